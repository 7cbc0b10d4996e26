// `helm test`: the registry, and the address to which it sends its clients for tokens, answer where a node looks for them. This
// pod has the node's resolver. Whether a node trusts their certificates is not tested here.

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
process.removeAllListeners('warning');
const { REGISTRY = '', TOKENS = '' } = process.env;
const HINT =
  'Nodes pull images by these addresses: see docs/build-platform.md, "A production registry". If your nodes find them in another way, such as a file hosts.toml, only a pull shows whether they do.';

async function ask(url) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    process.stdout.write(`${url} answers ${answer.status}\n`);
    return answer;
  } catch (error) {
    throw new Error(`${url} is not reached as a node would reach it: ${error.cause?.message ?? error.message}. ${HINT}`);
  }
}

const registry = await ask(`${REGISTRY}/v2/`);
const [, realm] = /realm="([^"]*)"/.exec(registry.headers.get('www-authenticate') ?? '') ?? [];
if (registry.status !== 401 || realm !== TOKENS)
  throw new Error(
    `401 was expected, with tokens from ${TOKENS}; it names ${realm ?? 'no address'}. Another server than the registry answers, or the registry is older than its configuration.`,
  );
const tokens = await ask(TOKENS);
if (tokens.status === 404 || tokens.status >= 500)
  throw new Error(`${TOKENS} is not answered by Davit's API: it answers ${tokens.status}. ${HINT}`);
