// A small Python server that is built, and a record that builds it.

/** app.py of a server on port 8000 that answers every GET with `text`. */
export function pythonServer(text: string): string {
  return `import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"${text}")

http.server.HTTPServer(("", 8000), Handler).serve_forever()
`;
}

/** The smallest parts that run. */
export const SMALL = {
  cpu: 0.1,
  memoryMb: 128,
  dbCpu: 0.1,
  dbMemoryMb: 256,
  dbStorageGi: 1,
  redisCpu: 0.05,
  redisMemoryMb: 64,
};

/** An AppDeployment of the branch main of a repository that has a Dockerfile, with small parts. */
export function builtRecord(
  name: string,
  { integrationId, repoUrl, ...more }: { integrationId: string; repoUrl: string } & Readonly<Record<string, unknown>>,
  spec: object = {},
): object {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name },
    spec: {
      source: 'codehost',
      sourceConfig: { integrationId, repoUrl, resourceSpec: SMALL, ...more },
      sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'Dockerfile' },
      ...spec,
    },
  };
}
