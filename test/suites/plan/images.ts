// What a Dockerfile makes, as far as two can be compared: read from the text of the published CLI's, and from ours.

/** Undefined where no Dockerfile was made. */
export interface Image {
  /** The base, by what was asked for. */
  readonly base: string;
  /** dockerfile_lines as they came. */
  readonly lines: readonly string[];
  /** `path in the workspace → path in the image`. */
  readonly copies: readonly string[];
  /** Handed to the installer by name. */
  readonly installs: string;
  /** requirements.txt of the image that are installed. */
  readonly requirements: readonly string[];
  /** Folders of the image that Python imports from: installed packages, and others. */
  readonly importable: readonly string[];
  readonly javascript: string;
  readonly env: Readonly<Record<string, unknown>>;
  readonly workdir: string;
  readonly removed: readonly string[];
  readonly uv: readonly string[];
}

/** Whose text it is: where they write the same in two ways, this reads both. */
interface Reading {
  /** What a FROM asks for. */
  readonly base: (image: string) => string;
  /** Path in the workspace of a source that is copied; `from` is the build context's name. */
  readonly source: (path: string, from: string | undefined) => string;
}

export function readImage(dockerfile: string, own: readonly string[], reading: Reading): Image {
  const lines: string[] = [];
  const copies: string[] = [];
  const requirements: string[] = [];
  const removed: string[] = [];
  const uv: string[] = [];
  const env: Record<string, unknown> = {};
  const flat = new Set<string>();
  let base = '';
  let installs = '';
  let javascript = '';
  let workdir = '';
  let loops = false;
  const editable: string[] = [];
  const roots: string[] = [];
  // What is written over several lines: the published CLI's making of a pyproject.toml, and the file's own lines.
  const text = dockerfile.replace(
    /^RUN set -ex && \\\n(?:.*\\\n)*?.*>> (\S+)\/pyproject\.toml; \\\n\s*done\n/gm,
    (_, folder: string) => {
      flat.add(folder);
      return '';
    },
  );
  const ownText = own.join('\n');
  const at = ownText === '' ? -1 : text.indexOf(`\n${ownText}\n`);
  if (at >= 0) lines.push(...own);
  const rest = at < 0 ? text : text.slice(0, at + 1) + text.slice(at + 1 + ownText.length);

  for (const line of rest.split('\n').map((one) => one.trimEnd())) {
    if (line === '' || line.startsWith('#')) continue;
    const [, word = '', args = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    const command = args.replace(/^(PIP_CONFIG_FILE=\S+ )?(PYTHONDONTWRITEBYTECODE=1 )?/, '');
    const installed =
      /^(?:uv pip install|pip install|python3 -m pip install)(?: --system)?(?: --no-cache-dir)?(?: -c \/api\/constraints\.txt)? +(.*)$/.exec(
        command,
      )?.[1];
    if (word === 'FROM') base = reading.base(args);
    else if (word === 'ADD' || word === 'COPY') {
      const [, from, path = '', target = ''] = /^(?:--from=(\S+) )?(\S+) (\S+)$/.exec(args) ?? [];
      const source = reading.source(path, from);
      if (target === '/pipconfig.txt' || !target.startsWith('/tmp/')) copies.push(`${source || '.'} → ${target}`);
      else uv.push(`${source} → ${target}`);
    } else if (word === 'ENV' && args.startsWith('PYTHONPATH='))
      roots.push(...(/"([^$"]*)/.exec(args)?.[1] ?? '').split(':'));
    else if (word === 'ENV') {
      const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(args) ?? [];
      if (name !== 'NODE_VERSION') env[name] = valueOf(unquoted(value));
    } else if (word === 'WORKDIR') workdir = args;
    else if (/^(npm|yarn|pnpm|bun) /.test(command)) javascript = `${command.replace(/ && tsx .*$/, '')} in ${workdir}`;
    else if (word === 'ARG' || word === 'USER' || isOfTheirImage(command)) continue;
    else if (command.includes('for dep in /deps/*')) loops = true;
    else if (/uv export|uv_requirements|--no-deps -e \.|\/tmp\/uv_export/.test(command)) uv.push(command);
    else if (installed?.startsWith('-r requirements.txt')) requirements.push(`${workdir}/requirements.txt`);
    else if (installed?.startsWith('-r '))
      requirements.push(...installed.split(/\s*-r\s+/).filter((one) => one !== ''));
    else if (installed?.startsWith('-e ')) editable.push(...installed.split(/\s*-e\s+/).filter((one) => one !== ''));
    else if (installed !== undefined) installs = installed;
    else if (/pip uninstall/.test(command))
      removed.push(
        ...(/uninstall (?:--system )?(?:-y )?([a-z ]+?)(?: \|\|.*| &&.*)?$/.exec(command)?.[1] ?? '').split(' '),
      );
    else lines.push(line);
  }
  const targets = copies.map((one) => one.split(' → ')[1] ?? '');
  const fromLoop = targets.filter((target) => /^\/deps\/[^/]+$/.test(target) && !flat.has(target));
  const fromFlat = [...flat].flatMap((folder) =>
    targets
      .filter((target) => target.startsWith(`${folder}/`) && !target.endsWith('/requirements.txt'))
      .map((target) => (target.endsWith('/src') ? target : folder)),
  );
  return {
    base,
    lines,
    copies: copies.toSorted(),
    installs,
    requirements: requirements.toSorted(),
    importable: [...(loops ? [...fromLoop, ...fromFlat] : []), ...editable, ...roots].toSorted(),
    javascript,
    env,
    workdir: workdir === '' || uv.length > 0 ? '' : workdir,
    removed: [...new Set(removed)].toSorted(),
    uv,
  };
}

/** As a builder reads it: quotes are taken off, a backslash outside of them too, and a space outside of them ends the value. */
function unquoted(text: string): string {
  let value = '';
  let quote = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (quote === '' && character === ' ') return `${value} (and then what is no NAME=VALUE)`;
    if (character === quote) quote = '';
    else if (quote === '' && (character === "'" || character === '"')) quote = character;
    else if (character === '\\' && quote !== "'") value += text[(at += 1)] ?? '';
    else value += character;
  }
  return value;
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Steps that only their base image has a use for: its own package, its scripts, its installer. */
function isOfTheirImage(command: string): boolean {
  return (
    command.includes('/api/langgraph_api') ||
    command.includes('--no-deps -e /api') ||
    command === '/storage/install-node.sh' ||
    command === 'rm /usr/bin/uv /usr/bin/uvx' ||
    /^rm -rf \/usr\/(local\/)?lib\/python/.test(command)
  );
}
