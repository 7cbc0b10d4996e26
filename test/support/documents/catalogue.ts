// Where commands of the documents are run. One that is here and that its test does not run fails that test; the others are only parsed.

/** In the tests that share a cluster, on an installation by Helm, or on a platform that builds. */
export type Place = 'integration' | 'install' | 'builds';

const HTTP = `curl -s -X POST "$API/v2/deployments?fieldValidation=Strict" -H "X-Api-Key: $TOKEN" -H 'Content-Type: application/json' -d '{`;
const PROVIDER = `curl -X PATCH "$API/v2/auth/providers/issue-tracker?fieldValidation=Strict" -H "X-Api-Key: $TOKEN" -H 'Content-Type: application/json' \\`;
const AS_NEW = `AS_NEW='.items |= map(select(.metadata.ownerReferences == null) | del(.status, .metadata["uid", "resourceVersion", "creationTimestamp", "generation"]))'`;
const IDS = `kubectl get codehostintegrations,listeners -A -o custom-columns=:kind,:metadata.namespace,:metadata.name,:metadata.uid > ids.txt`;
const STOPPED = `STOPPED='.items |= map(if .kind == "AppDeployment" then .spec.sourceConfig.resourceSpec += {minScale: 0, maxScale: 0} else . end)'`;
const DUMP_BY_HAND = `kubectl exec NAME--postgres-0 -n NAMESPACE -- sh -c 'pg_dump -U postgres "$POSTGRES_DB"' > NAME.sql`;
const LOAD = `kubectl exec -i NAME--postgres-0 -n NAMESPACE -- sh -c 'psql -U "$POSTGRES_DB" -q -v ON_ERROR_STOP=1 --single-transaction' < NAME.sql`;
const SCALE_TO_ZERO = `kubectl patch appd NAME -n NAMESPACE --type=merge -p '{"spec":{"sourceConfig":{"resourceSpec":{"minScale":0,"maxScale":0}}}}'`;

/** By its first line. */
export const CATALOGUE: Readonly<Record<string, Place>> = {
  'npm run demo -- --once': 'install',
  'npm run demo -- --json demo.json': 'install',
  'helm install davit charts/davit -n davit-system --create-namespace --set image.repository=REGISTRY/davit --wait':
    'install',
  'helm test davit -n davit-system --logs': 'install',
  'kubectl create namespace team && kubectl label namespace team davit.dev/tenant=true': 'install',
  'kubectl create rolebinding davit-editor -n team --clusterrole=davit-editor --user=SOMEBODY': 'install',
  'kubectl create rolebinding edit -n team --clusterrole=edit --user=SOMEBODY': 'install',
  'kubectl delete appd,lsn,dsop --all -n NAMESPACE': 'integration',
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
  'kubectl explain appd.spec.sourceConfig.resourceSpec': 'integration',
  'kubectl describe appd shop': 'integration',
  'kubectl wait --for=condition=Ready appd/NAME --timeout=10m': 'integration',
  'kubectl get appd': 'integration',
  'kubectl get appd -o wide': 'integration',
  'kubectl get appd hello -o wide': 'integration',
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
  [`kubectl patch appd NAME --type merge -p '{"spec":{"secrets":[]}}'`]: 'integration',
  [`kubectl patch appd NAME -n NAMESPACE --type=merge -p '{"metadata":{"finalizers":null}}'`]: 'integration',
  'kubectl delete all,pvc,secret,networkpolicy,hpa,pdb -n NAMESPACE -l davit.dev/deployment=NAME': 'integration',
  'kubectl delete ingress -A -l davit.dev/deployment': 'integration',
  'kubectl get lease -n davit-system davit-controller': 'integration',
  'kubectl apply --server-side -f crds/': 'integration',
  "kubectl annotate namespace team davit.dev/hosts='shop.example.com, *.team.example.com'": 'integration',
  'kubectl get listeners -n team -o wide': 'integration',
  'kubectl davit tasks agent': 'integration',
  'kubectl get cronjobs -l davit.dev/deployment=agent': 'integration',
  'kubectl get jobs -l davit.dev/deployment=agent,davit.dev/task=clean': 'integration',
  'kubectl create secret generic gitea-credentials -n davit-org --from-file=token=./token': 'integration',
  'kubectl create secret generic github-credentials -n davit-org --from-file=private-key=./app.pem': 'integration',
  'kubectl create rolebinding team-providers -n davit-org --clusterrole=davit-editor --serviceaccount=team:ci':
    'integration',
  [PROVIDER]: 'integration',
  'kubectl create token ACCOUNT --duration=1h': 'integration',
  'kubectl logs -n davit-system deployment/davit-controller': 'install',
  [AS_NEW]: 'install',
  'kubectl get appd,trp,notifiers -n NAMESPACE -o json | jq "$AS_NEW" > records.json': 'install',
  'kubectl get secrets -n NAMESPACE -o json | jq "$AS_NEW" > secrets.json': 'install',
  'kubectl get secrets -n davit-system --field-selector=metadata.name=davit-hmac -o json | jq "$AS_NEW" > key.json':
    'install',
  [DUMP_BY_HAND]: 'install',
  'kubectl get apptemplates,oauthproviders,codehostintegrations -n davit-org -o json | jq "$AS_NEW" > organization.json':
    'install',
  'kubectl get secrets -n davit-org -o json | jq "$AS_NEW" > organization-secrets.json': 'install',
  'helm get values davit -n davit-system -o yaml > values.yaml': 'install',
  [IDS]: 'install',
  'kubectl get listeners -n NAMESPACE -o json | jq "$AS_NEW" > listeners.json': 'install',
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
  'helm upgrade davit charts/davit -n davit-system --reset-then-reuse-values --set image.tag=NEW --wait': 'install',
  'kubectl delete appd,lsn,dsop --all --all-namespaces': 'install',
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
