// A small plot for the documents, of what a test has seen. Pure.

/** Seconds since the beginning, and what there was then. */
export interface Sample {
  readonly at: number;
  readonly pods: number;
  readonly jobs: number;
}

const WIDTH = 640;
const HEIGHT = 220;
const MARGIN = { left: 40, right: 40, top: 28, bottom: 32 };

/** SVG of pods (steps, scale on the left) and open jobs (line, scale on the right) over time. */
export function plotOf(samples: readonly Sample[]): string {
  const last = Math.max(1, ...samples.map(({ at }) => at));
  const mostPods = Math.max(1, ...samples.map(({ pods }) => pods));
  const mostJobs = Math.max(1, ...samples.map(({ jobs }) => jobs));
  const bottom = HEIGHT - MARGIN.bottom;
  const x = (at: number): number => round(MARGIN.left + (at / last) * (WIDTH - MARGIN.left - MARGIN.right));
  const y = (value: number, most: number): number => round(bottom - (value / most) * (bottom - MARGIN.top));
  const steps = samples.map(({ at, pods }, index) => {
    const before = samples[index - 1];
    const corner = before ? `H${x(at)}` : `M${x(at)} ${y(pods, mostPods)}`;
    return before && before.pods !== pods ? `${corner}V${y(pods, mostPods)}` : corner;
  });
  const line = samples.map(({ at, jobs }) => `${x(at)},${y(jobs, mostJobs)}`);
  const text = (at: number, height: number, anchor: string, color: string, words: string): string =>
    `<text x="${at}" y="${height}" text-anchor="${anchor}" fill="${color}">${words}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-label="Queue workers and open jobs over ${last} seconds">
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<path d="M${MARGIN.left} ${bottom}H${WIDTH - MARGIN.right}" stroke="#667" fill="none"/>
<polyline points="${line.join(' ')}" stroke="#c2410c" stroke-width="1.5" fill="none"/>
<path d="${steps.join('')}" stroke="#1d4ed8" stroke-width="2" fill="none"/>
${text(MARGIN.left, 16, 'start', '#1d4ed8', `queue workers, at most ${mostPods}`)}
${text(WIDTH - MARGIN.right, 16, 'end', '#c2410c', `open jobs, at most ${mostJobs}`)}
${text(MARGIN.left - 6, y(mostPods, mostPods) + 4, 'end', '#1d4ed8', String(mostPods))}
${text(WIDTH - MARGIN.right + 6, y(mostJobs, mostJobs) + 4, 'start', '#c2410c', String(mostJobs))}
${text(MARGIN.left, HEIGHT - 10, 'start', '#334', '0 s')}
${text(WIDTH - MARGIN.right, HEIGHT - 10, 'end', '#334', `${last} s`)}
</svg>
`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
