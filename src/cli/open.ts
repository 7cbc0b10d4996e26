// Forwards a local port to a deployment.

import { names } from '../deployments/record/names.ts';
import { SERVICE_PORT } from '../schema/meta.ts';
import { type Command, DEPLOYMENT, OUTPUT, print } from './command.ts';
import { Failure, forward } from './kubectl.ts';
import { needReadyPod } from './wait.ts';

export const openCommand: Command = {
  name: 'open',
  purpose: 'forward a local port to it until Ctrl-C, and print the URL',
  words: [DEPLOYMENT],
  flags: [{ name: 'port', value: 'PORT', help: 'local port; any free one by default', isNumber: true }, OUTPUT],
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
      flags,
      cluster,
      onEnd,
      warn,
    } = context;
    await needReadyPod(kubectl, name);
    const localPort = flags.number('port') ?? 0;
    const forwarded = await forward(cluster, { service: names(name).service, port: SERVICE_PORT, localPort });
    process.once('SIGINT', () => forwarded.close());
    onEnd(() => forwarded.close());
    const url = `http://127.0.0.1:${forwarded.port}`;
    print(context, { name, url }, () => [url]);
    warn('Ctrl-C ends it.');
    const { code, message } = await forwarded.ended;
    if (code !== 0 && code !== 130) throw new Failure(message);
    return code;
  },
};
