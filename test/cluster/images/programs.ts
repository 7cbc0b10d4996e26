// Images of nothing but Go programs, which are static: for the operators of others that tests run beside Davit.

import { chmod, copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ensureTools, type ToolModule, toolPath } from '../tools.ts';
import { type Image, key, readImage } from './build.ts';
import { cacheRoot, whileWaiting, withLock } from './cache.ts';
import { writeImage, writeLayer } from './oci.ts';

/** Image `davit.local/MODULE:1`. `programs` has, for each path in the image, the name of the module's program. */
export async function ensureProgramImage(
  module: ToolModule,
  programs: Readonly<Record<string, string>>,
  progress: (line: string) => void,
): Promise<Image> {
  const tools = await ensureTools([module], progress);
  const parent = join(cacheRoot(), 'program-images');
  const entry = join(parent, `${module}-${key([basename(tools[module] ?? ''), JSON.stringify(programs)])}`);
  await mkdir(parent, { recursive: true });
  return withLock(
    `image of ${module} ${parent}`,
    whileWaiting(progress, `Image: another process is making that of ${module}`),
    async () => {
      const known = await readImage(entry);
      if (known) return known;
      const making = await mkdtemp(join(parent, '.making-'));
      try {
        const root = join(making, 'root');
        const made = join(making, 'entry');
        await Promise.all([mkdir(root), mkdir(made)]);
        for (const [path, program] of Object.entries(programs)) {
          await mkdir(dirname(join(root, path)), { recursive: true });
          await copyFile(toolPath(tools, module, program), join(root, path));
          await chmod(join(root, path), 0o755);
        }
        const layer = await writeLayer(root, join(making, 'layer.tar.zst'), () => ({ uid: 0, gid: 0 }));
        const name = `davit.local/${module}:1`;
        const config = { Env: ['PATH=/'], User: '65532:65532', Entrypoint: [`/${Object.keys(programs)[0]}`] };
        const digest = await writeImage(join(made, 'image.tar'), name, [layer], config);
        await writeFile(join(made, 'record.json'), JSON.stringify({ name, digest }));
        await rename(made, entry);
      } finally {
        await rm(making, { recursive: true, force: true });
      }
      const image = await readImage(entry);
      if (!image) throw new Error(`the image of ${module} was made, but is not in the cache`);
      return image;
    },
  );
}
