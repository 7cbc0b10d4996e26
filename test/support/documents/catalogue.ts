// Where each command of the documents is run, and why some are not. A command that is not here fails
// test/suites/hygiene/documents.test.ts; one that is here and that its test does not run fails that test.

/** In the tests that share a cluster, on an installation by Helm, on a platform that builds, or nowhere for a reason. */
export type Place = 'integration' | 'install' | 'builds' | { readonly notRun: string };

const THIS_RUN = { notRun: 'it is what runs the tests' };
const HOURS = { notRun: 'hours; npm test -- --whole runs a sample, as docs/reliability.md tells' };
const BASE_IMAGES = {
  notRun: 'it needs the internet; test/suites/builds/registry-tokens.test.ts pushes with that password',
};
const DEVELOPING = { notRun: 'it is for who changes Davit, and its failure would be theirs to see' };

const TWO_CLUSTERS = { notRun: 'it needs two clusters; test/suites/integration/two-clusters.test.ts runs it' };

const AGENTS = { notRun: 'test/suites/integration/api-server/oauth.test.ts binds the same role' };

const CLI = { notRun: 'test/suites/integration/cli.test.ts and src/cli/**/*.test.ts run each command' };
const RELEASED = { notRun: 'test/suites/release/rehearsal.test.ts releases, verifies and installs' };
const BACKED_UP = { notRun: 'test/suites/backups/backups.test.ts runs it on a real store' };
const RUNS = { notRun: 'test/suites/e2e/runtime.test.ts runs other commands in real pods' };
const REAL_PODS = {
  notRun: 'only a kubelet with real pods answers it; src/cli/**/*.test.ts run it with another kubectl',
};

const RELEASE_WORKS = `kubectl get lsnw -n davit-lsn-ID -o name | xargs -I{} kubectl patch {} -n davit-lsn-ID --type=merge -p '{"metadata":{"finalizers":null}}'`;
const HTTP = `curl -s -X POST "$API/v2/deployments?fieldValidation=Strict" -H "X-Api-Key: $TOKEN" -H 'Content-Type: application/json' -d '{`;
const PROVIDER = `curl -X PATCH "$API/v2/auth/providers/issue-tracker?fieldValidation=Strict" -H "X-Api-Key: $TOKEN" -H 'Content-Type: application/json' \\`;
const AS_NEW = `AS_NEW='.items |= map(select(.metadata.ownerReferences == null) | del(.status, .metadata["uid", "resourceVersion", "creationTimestamp", "generation"]))'`;
const STOPPED = `STOPPED='.items |= map(if .kind == "AppDeployment" then .spec.sourceConfig.resourceSpec += {minScale: 0, maxScale: 0} else . end)'`;
const DUMP_BY_HAND = `kubectl exec NAME--postgres-0 -n NAMESPACE -- sh -c 'pg_dump -U postgres "$POSTGRES_DB"' > NAME.sql`;
const LOAD = `kubectl exec -i NAME--postgres-0 -n NAMESPACE -- sh -c 'psql -U "$POSTGRES_DB" -q -v ON_ERROR_STOP=1 --single-transaction' < NAME.sql`;
const SCALE_TO_ZERO = `kubectl patch appd NAME -n NAMESPACE --type=merge -p '{"spec":{"sourceConfig":{"resourceSpec":{"minScale":0,"maxScale":0}}}}'`;

/** By its first line. */
export const CATALOGUE: Readonly<Record<string, Place>> = {
  'npm run demo': { notRun: 'as with --json, but until Ctrl-C' },
  'npm run demo -- --once': 'install',
  'npm run demo -- --json demo.json': 'install',
  'kubectl exec -n davit-system deploy/davit-api -- /nodejs/bin/node dist/main.js registry-password > password':
    BASE_IMAGES,
  'crane auth login registry.example.com -u davit --password-stdin < password': BASE_IMAGES,
  'crane copy docker.io/library/python:3.12-slim registry.example.com/base/python:3.12': BASE_IMAGES,
  'npm run demo -- --build': { notRun: 'the half of --codehost' },
  'npm run demo -- --codehost': {
    notRun: 'it compiles for minutes; test/suites/builds/demo.test.ts runs it with --once',
  },
  'npm run demo -- --oauth': { notRun: 'test/demo/demo.test.ts runs it with --once' },
  'npm run demo -- --backups': { notRun: 'test/suites/backups has such a store, backups and clones' },
  'npm run demo -- --listener': { notRun: 'test/demo/demo.test.ts runs it with --once' },
  'npm run demo -- --context NAME': { notRun: 'it would be a second Davit on a cluster of the tests' },
  'docker build -t REGISTRY/davit:0.1.0 . && docker push REGISTRY/davit:0.1.0': {
    notRun: 'it needs Docker and a registry; test/suites/e2e/install builds the image from the same Dockerfile',
  },
  'helm install davit charts/davit -n davit-system --create-namespace --set image.repository=REGISTRY/davit --wait':
    'install',
  'helm install davit charts/davit -n davit-system --create-namespace --wait': {
    notRun: 'the same without the image, which is in no registry',
  },
  'helm test davit -n davit-system --logs': 'install',
  'kubectl create namespace team && kubectl label namespace team davit.dev/tenant=true': 'install',
  'kubectl create rolebinding davit-editor -n team --clusterrole=davit-editor --user=SOMEBODY': 'install',
  'kubectl create rolebinding edit -n team --clusterrole=edit --user=SOMEBODY': 'install',
  'kubectl create rolebinding agents -n team --clusterrole=davit-agent --serviceaccount=team:agent': AGENTS,
  'kubectl delete appd --all -n NAMESPACE': 'integration',
  'kubectl get trp,pvc,secrets -n NAMESPACE': 'integration',
  'kubectl delete namespace NAMESPACE': 'integration',
  'kubectl label namespace NAMESPACE davit.dev/tenant-': 'integration',
  'kubectl get trp,appd -n NAMESPACE -o name | cut -d/ -f2 | sort | uniq -u': 'integration',
  'kubectl delete trp NAME -n NAMESPACE': 'integration',
  'kubectl config set-context --current --namespace=team': 'integration',
  [HTTP]: 'integration',
  'kubectl create secret generic shop-keys --from-literal=api-key=0123': 'integration',
  'kubectl apply -f shop.yaml': 'integration',
  'kubectl wait --for=condition=Ready appd/shop --timeout=5m': 'integration',
  'kubectl davit status shop': 'integration',
  'kubectl port-forward service/shop 8080:80 --namespace=team': {
    notRun: 'it runs until Ctrl-C, and only a kubelet with real pods answers it',
  },
  'kubectl explain appd.spec.sourceConfig.resourceSpec': 'integration',
  'kubectl describe appd shop': 'integration',
  'npm run build': {
    notRun: 'it writes into the working copy; test/suites/http/bundle.test.ts writes the same to another folder',
  },

  'npm run release': RELEASED,
  'npm run release -- --version 0.1.0 --to registry.example.com/platform': RELEASED,
  'npm test -- --project release': THIS_RUN,
  'cosign verify --key cosign.pub registry.example.com/platform/davit@sha256:...': RELEASED,
  'cosign verify --key cosign.pub registry.example.com/platform/charts/davit@sha256:...': RELEASED,
  'cosign verify-attestation --key cosign.pub --type slsaprovenance1 registry.example.com/platform/davit@sha256:...':
    RELEASED,
  'sha256sum --check checksums.txt': RELEASED,
  'npm run audit': { notRun: 'test/suites/hygiene/audit.test.ts runs its parts, against a registry of its own' },
  'npm test': THIS_RUN,
  'npm test -- --whole': THIS_RUN,
  'npm run e2e': THIS_RUN,
  'npm run compat': THIS_RUN,
  'npm run bench': HOURS,
  'npm run faults': HOURS,
  'npm run explore': HOURS,
  'npm run faults -- --quick': THIS_RUN,
  "npm run faults -- --plan '<json>'": HOURS,
  'npm run faults -- --idle --minutes 10 --records 200': HOURS,
  'npm run fuzz': { notRun: 'minutes, and packages of Python' },
  'npm run check': DEVELOPING,
  'npm run generate': DEVELOPING,
  'npm run bundle:page': { notRun: 'test/suites/http/bundle.test.ts runs it with another folder' },

  'kubectl wait --for=condition=Ready appd/NAME --timeout=10m': 'integration',
  'kubectl get appd': 'integration',
  'kubectl get appd -o wide': 'integration',
  'kubectl get appd hello -o wide': 'integration',
  'kubectl describe appd hello': 'integration',
  'kubectl describe appd NAME': 'integration',
  'kubectl davit rollback NAME': 'integration',
  'kubectl davit scale NAME --replicas 3': 'integration',
  'kubectl davit deploy ./agent --name agent': 'builds',
  'kubectl davit deploy FOLDER': 'builds',
  'kubectl davit logs NAME --build': 'builds',
  'kubectl davit logs NAME --build --follow': 'builds',
  'kubectl get appr': 'builds',
  'kubectl create token ACCOUNT': 'builds',
  'kubectl annotate appd NAME davit.dev/interrupt=REVISION_ID': 'builds',
  'kubectl rollout restart statefulset/davit-registry -n davit-system': 'builds',
  'kubectl annotate appd NAME davit.dev/paused=true': 'integration',
  'kubectl set env deployment/NAME DEBUG-': {
    notRun: 'test/suites/integration/lifecycle.test.ts sets a variable and removes it',
  },
  [`kubectl patch appd NAME --type merge -p '{"spec":{"secrets":[]}}'`]: 'integration',
  [`kubectl patch appd NAME -n NAMESPACE --type=merge -p '{"metadata":{"finalizers":null}}'`]: 'integration',
  'kubectl delete all,pvc,secret,networkpolicy,hpa,pdb -n NAMESPACE -l davit.dev/deployment=NAME': 'integration',
  'kubectl delete ingress -A -l davit.dev/deployment': 'integration',
  'kubectl get lease -n davit-system davit-controller': 'integration',
  'kubectl apply --server-side -f crds/': 'integration',
  "kubectl annotate namespace team davit.dev/hosts='shop.example.com, *.team.example.com'": 'integration',
  'kubectl annotate namespace team davit.dev/oauth-verifier-url=https://portal.example.com/confirm \\': {
    notRun: 'it needs a page with a sign-in; test/harness/faults/oauth.ts annotates a namespace',
  },
  'kubectl get listeners -n team -o wide': 'integration',
  'kubectl get lsnw -A': {
    notRun: 'it only shows; test/suites/integration/api-server/listeners.test.ts reads them over the API',
  },
  'kubectl annotate appd NAME davit.dev/abandon-remote=<uid of the record>': TWO_CLUSTERS,
  'kubectl annotate lsn NAME davit.dev/accept-cluster=ID': {
    notRun: 'it needs a second cluster; src/listeners/hub/contact.test.ts decides it',
  },
  'kubectl davit listener join NAME > hub-secret.json': TWO_CLUSTERS,
  'kubectl davit listener revoke NAME': TWO_CLUSTERS,
  [RELEASE_WORKS]: TWO_CLUSTERS,

  'kubectl davit export agent': CLI,
  'kubectl davit init ./agent': CLI,
  'kubectl davit init --image registry.example.com/team/shop:1.5.0': CLI,
  'kubectl davit init ./agent --output -': CLI,
  'kubectl davit schema > ./agent/davit.schema.json': CLI,
  'kubectl davit wait agent': CLI,
  'kubectl davit deploy ./agent --name agent --timeout 900 || exit 1': CLI,
  'kubectl davit status': CLI,
  'kubectl davit status agent': CLI,
  'kubectl davit status agent -o json': CLI,
  'kubectl davit logs agent --build': CLI,
  'kubectl davit logs agent --revision agent--1a2b3c4d': CLI,
  'kubectl davit logs agent --task clean': CLI,
  'kubectl davit scale agent': CLI,
  'kubectl davit scale agent server=3': CLI,
  'kubectl davit scale agent server=1..4 queue=2': CLI,
  'kubectl davit scale agent server=0': CLI,
  'kubectl davit secrets agent list': CLI,
  'kubectl davit secrets agent set API_KEY': CLI,
  'kubectl davit secrets agent set CERTIFICATE --from-file cert.pem': CLI,
  'openssl rand -hex 32 | kubectl davit secrets agent set SESSION_KEY': CLI,
  'kubectl davit secrets agent unset SESSION_KEY': CLI,
  'kubectl davit env agent list': CLI,
  'kubectl davit env agent set LOG_LEVEL=debug REGION=eu': CLI,
  'kubectl davit env agent set --from-file agent.env': CLI,
  'kubectl davit env agent unset REGION': CLI,
  'kubectl davit revisions agent': CLI,
  'kubectl davit diff agent': CLI,
  'kubectl davit diff agent 1c8ac5f4 3f0c9b1e': CLI,
  'kubectl davit deploy ./agent --name agent --output json': CLI,
  'kubectl davit deploy --image registry.example.com/team/shop:1.5.0 --name shop': CLI,
  'kubectl davit deploy --image registry.example.com/team/shop:1.5.0 --file davit.yaml --secret API_KEY': CLI,
  'kubectl davit deploy ./agent --secrets-file secrets.env': CLI,
  'kubectl davit deploy --image registry.example.com/team/shop:1.5.0 --name shop --set \'runtime.server.command=[uvicorn, "main:app", --host, 0.0.0.0, --port, $(PORT)]\'':
    CLI,
  "kubectl davit deploy --image registry.example.com/team/shop:1.5.0 --name shop --set 'runtime.server.command=[]'":
    CLI,
  'kubectl davit rollback agent --output json': CLI,
  'kubectl davit delete agent --yes --wait --output json': CLI,
  'kubectl davit rollback agent': CLI,
  'kubectl davit rollback agent --to 1c8ac5f4': CLI,
  'kubectl davit restart agent': CLI,
  'kubectl davit delete agent': CLI,
  'kubectl davit delete agent --yes --wait': CLI,
  'kubectl davit platform': CLI,
  'kubectl davit completion kubectl > kubectl_complete-davit && chmod +x kubectl_complete-davit': CLI,
  'kubectl davit backup agent': BACKED_UP,
  'kubectl davit backups agent': CLI,
  'kubectl davit datastores -A': CLI,
  'kubectl davit datastores patch --all -A': CLI,
  'kubectl davit logs agent --follow': REAL_PODS,
  'kubectl davit logs NAME --follow': REAL_PODS,
  'kubectl davit logs agent --component queue --previous': REAL_PODS,
  'kubectl davit open agent --port 8080': REAL_PODS,
  'kubectl davit exec agent -- sh': REAL_PODS,
  'kubectl delete job': { notRun: 'it is half of a command' },
  'kubectl get appr -o wide': { notRun: 'its columns are in the CustomResourceDefinition' },
  'kubectl davit run agent -- python manage.py clearsessions': RUNS,
  'kubectl davit tasks agent': 'integration',
  'kubectl get cronjobs -l davit.dev/deployment=agent': 'integration',
  'kubectl get jobs -l davit.dev/deployment=agent,davit.dev/task=clean': 'integration',
  'kubectl davit run agent --task reindex': RUNS,
  'kubectl davit tasks NAME': CLI,
  'kubectl davit run NAME --task TASK': RUNS,
  'kubectl davit run agent --task clean': RUNS,
  'kubectl davit run agent --timeout 600 -- sh -c \'pg_dump "$POSTGRES_URI" | wc -c\'': RUNS,
  'kubectl davit exec agent -c postgres -- psql -U postgres app': REAL_PODS,

  'kubectl create secret generic gitea-credentials -n davit-org --from-file=token=./token': 'integration',
  'kubectl create secret generic github-credentials -n davit-org --from-file=private-key=./app.pem': 'integration',
  'kubectl create rolebinding team-providers -n davit-org --clusterrole=davit-editor --serviceaccount=team:ci':
    'integration',
  [PROVIDER]: 'integration',
  'kubectl create token ACCOUNT --duration=1h': 'integration',

  'kubectl logs -n davit-system deployment/davit-controller': 'install',
  'kubectl delete statefulset davit-registry -n davit-system': {
    notRun: 'it is for a registry that moves to a bucket, of which the cluster of the tests has none',
  },
  'kubectl annotate configmap davit-registry-collection -n davit-system davit.dev/collect=now': {
    notRun:
      'test/suites/reconcile/registry-upkeep.test.ts has the annotation noticed, and a cluster without a registry has no ConfigMap',
  },
  [AS_NEW]: 'install',
  'kubectl get appd,trp -n NAMESPACE -o json | jq "$AS_NEW" > records.json': 'install',
  'kubectl get secrets -n NAMESPACE -o json | jq "$AS_NEW" > secrets.json': 'install',
  'kubectl get secrets -n davit-system --field-selector=metadata.name=davit-hmac -o json | jq "$AS_NEW" > key.json':
    'install',
  [DUMP_BY_HAND]: 'install',
  'kubectl get apptemplates,oauthproviders,codehostintegrations -n davit-org -o json | jq "$AS_NEW" > organization.json':
    'install',
  'kubectl get secrets -n davit-org -o json | jq "$AS_NEW" > organization-secrets.json': 'install',
  'helm get values davit -n davit-system': 'install',
  'kubectl apply --server-side -f organization-secrets.json': 'install',
  'kubectl apply --server-side -f organization.json': 'install',
  [STOPPED]: 'install',
  'jq "$STOPPED" records.json > stopped.json': 'install',
  "kubectl delete secrets -n NAMESPACE -l 'davit.dev/component in (postgres, redis)'": 'install',
  'kubectl apply --server-side -f stopped.json': 'install',
  'kubectl wait --for=condition=DatabaseReady appd/NAME -n NAMESPACE --timeout=5m': 'install',
  [LOAD]: 'install',
  [SCALE_TO_ZERO]: 'install',
  'kubectl annotate appd NAME -n NAMESPACE --overwrite davit.dev/empty-database=UID': 'install',
  'kubectl exec NAME--postgres-0 -n NAMESPACE -- printenv APP_PASSWORD POSTGRES_PASSWORD': 'install',
  'kubectl exec NAME--redis-0 -n NAMESPACE -- cat /etc/davit/redis.conf': 'install',
  'kubectl scale deployment/davit-controller -n davit-system --replicas=0': 'install',
  'kubectl apply --server-side -f key.json': 'install',
  'kubectl apply --server-side -f secrets.json': 'install',
  'kubectl delete secrets -n NAMESPACE -l davit.dev/component=redis': 'install',
  'kubectl apply --server-side -f records.json': 'install',
  'kubectl scale deployment/davit-controller -n davit-system --replicas=2': 'install',
  'kubectl annotate appd NAME -n NAMESPACE davit.dev/adopt-database=UID': 'install',
  'kubectl annotate secret NAME--postgres -n NAMESPACE "davit.dev/used-last=UID pod"': {
    notRun: 'what it does is in test/suites/reconcile/database-moves.test.ts',
  },
  'kubectl davit database retained': CLI,
  'kubectl davit database adopt NAME': CLI,
  'kubectl davit database discard NAME': CLI,
  'kubectl annotate appd NAME -n NAMESPACE davit.dev/empty-database=UID': {
    notRun: 'it gives data up; test/suites/reconcile/volumes.test.ts and the fault plans do it',
  },
  'helm upgrade davit charts/davit -n davit-system --reset-then-reuse-values --set image.tag=NEW --wait': 'install',
  'kubectl delete appd,lsn --all --all-namespaces': 'install',
  'helm uninstall davit -n davit-system --wait': 'install',
  "kubectl get crd -o name | grep '[.]davit[.]dev$' | xargs kubectl delete": 'install',
  'kubectl delete namespace davit-org davit-oauth davit-builds davit-system --ignore-not-found': 'install',
};

export function firstLine(command: string): string {
  return command.split('\n')[0] ?? '';
}

/** The commands of one place that are still to be run: who runs them takes them out, and looks at the end that none is left. */
export class ToRun {
  readonly left: Set<string>;
  readonly #commands: ReadonlyMap<string, string>;

  constructor(commands: readonly string[], place: Place) {
    this.#commands = new Map(commands.map((command) => [firstLine(command), command]));
    this.left = new Set([...this.#commands.keys()].filter((line) => CATALOGUE[line] === place));
  }

  /** The command that begins so, with words of the documents replaced by what they stand for here. Throws if there is none. */
  take(line: string, words: Readonly<Record<string, string>> = {}): string {
    const command = this.#commands.get(line);
    if (command === undefined) throw new Error(`The documents have no command ${line}`);
    this.left.delete(line);
    return Object.entries(words).reduce(
      (text, [word, value]) => text.replaceAll(new RegExp(`\\b${word}\\b`, 'g'), () => value),
      command,
    );
  }
}
