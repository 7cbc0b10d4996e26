"""An operator for AppDeployments as a good author would write it with kopf.

Its children are those of the file that CHILDREN names, which the benchmark renders with Davit's own makers, so that both
make the same objects. WORKERS records are brought about at once; kopf itself has no limit.
"""

import asyncio
import datetime
import os
import uuid
from collections.abc import Awaitable, Mapping
from typing import Any

import kopf

from kubernetes import Api
from rendering import Object, Rendering, differs, filled, stamped

LABEL = 'davit.dev/deployment'
UID_LABEL = 'davit.dev/deployment-uid'
GROUP = ('davit.dev', 'v1alpha1')
RECORDS = (*GROUP, 'appdeployments')
CHILDREN = [
    (*GROUP, 'apprevisions'),
    (*GROUP, 'tracingprojects'),
    ('apps', 'v1', 'deployments'),
    ('apps', 'v1', 'statefulsets'),
    ('', 'v1', 'services'),
    ('', 'v1', 'persistentvolumeclaims'),
    ('', 'v1', 'secrets'),
    ('networking.k8s.io', 'v1', 'networkpolicies'),
    ('autoscaling', 'v2', 'horizontalpodautoscalers'),
    ('policy', 'v1', 'poddisruptionbudgets'),
]
# Watched as well, though this operator makes nothing of them.
PODS = ('', 'v1', 'pods')
NAMESPACES = ('', 'v1', 'namespaces')

rendering = Rendering(os.environ['CHILDREN'])
turns = asyncio.Semaphore(int(os.environ['WORKERS']))


@kopf.on.startup()
async def begin(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.persistence.finalizer = 'davit.dev/teardown'
    memo.api = Api.connect(rendering.field_manager)
    memo.ready = asyncio.Event()


@kopf.on.login()
def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.cleanup()
async def end(memo: kopf.Memo, **_: Any) -> None:
    await memo.api.close()


@kopf.index(*NAMESPACES)
def tenants(name: str, uid: str, **_: Any) -> Mapping[str, str]:
    return {name: uid}


@kopf.index(*RECORDS)
def records(namespace: str, name: str, body: kopf.Body, **_: Any) -> Mapping[tuple[str, str], Object]:
    return {(namespace, name): dict(body)}


def children(namespace: str, name: str, body: kopf.Body, **_: Any) -> Mapping[tuple[str, str, str], Object]:
    return {(namespace, body['kind'], name): dict(body)}


for kind in CHILDREN:
    kopf.index(*kind, id='children', labels={LABEL: kopf.PRESENT})(children)


@kopf.index(*PODS, labels={LABEL: kopf.PRESENT})
def pods(namespace: str, name: str, uid: str, **_: Any) -> Mapping[tuple[str, str], str]:
    return {(namespace, name): uid}


@kopf.on.event(*NAMESPACES)
def ready(memo: kopf.Memo, **_: Any) -> None:
    """The first event is handled when every index is full, and there is always a namespace."""
    if not memo.ready.is_set():
        memo.ready.set()
        print('READY', flush=True)


@kopf.on.resume(*RECORDS)
@kopf.on.create(*RECORDS)
@kopf.on.update(*RECORDS, field='spec')
async def bring(
    body: kopf.Body,
    patch: kopf.Patch,
    memo: kopf.Memo,
    children: kopf.Index,
    tenants: kopf.Index,
    **_: Any,
) -> None:
    values = values_for(body, tenants)
    async with turns:
        await make(rendering.tracing_project, body, values, memo.api, children)
        await make(rendering.revision, body, values, memo.api, children)
        first = [make(secret, body, values, memo.api, children) for secret in rendering.secrets]
        rest: list[Awaitable[None]] = []
        for text in rendering.children:
            child = stamped(text, values)
            into = first if child['kind'] == 'PersistentVolumeClaim' else rest
            into.append(apply(child, body, memo.api, children))
        await asyncio.gather(*first)
        await asyncio.gather(*rest)
        await report_on('AppRevision', values, memo.api, children, body)
        await report_on('TracingProject', values, memo.api, children, body)
    status = reported('AppDeployment', values, body.get('status', {}), body['metadata']['generation'])
    if differs(status, body.get('status', {})):
        patch.status.update(status)


async def child_changed(
    event: kopf.RawEvent,
    namespace: str,
    labels: Mapping[str, str],
    memo: kopf.Memo,
    records: kopf.Index,
    children: kopf.Index,
    tenants: kopf.Index,
    **_: Any,
) -> None:
    """What somebody has changed or deleted is made again."""
    wanted = records.get((namespace, labels[LABEL]))
    if event['type'] is None or not wanted:
        return
    [body] = wanted
    metadata = body['metadata']
    # One that is new, or going, has a handler of its own.
    if 'deletionTimestamp' in metadata or not metadata.get('finalizers'):
        return
    values = values_for(body, tenants)
    actual = event['object']
    for text in rendering.secrets + rendering.children:
        child = stamped(text, values)
        if child['kind'] != actual['kind'] or child['metadata']['name'] != actual['metadata']['name']:
            continue
        if child['kind'] == 'Secret':
            if event['type'] == 'DELETED':
                await memo.api.create(filled(text, values))
        elif event['type'] == 'DELETED':
            await memo.api.apply(child)
        else:
            await apply(child, body, memo.api, children)


for kind in CHILDREN:
    kopf.on.event(*kind, labels={LABEL: kopf.PRESENT})(child_changed)


@kopf.on.delete(*RECORDS)
async def tear_down(body: kopf.Body, memo: kopf.Memo, children: kopf.Index, tenants: kopf.Index, **_: Any) -> None:
    """Removes what has no owner reference; the garbage collector takes the rest."""
    values = values_for(body, tenants)
    for text in rendering.secrets + rendering.children:
        child = stamped(text, values)
        actual = there(child, body, children)
        if actual is not None and not child['metadata'].get('ownerReferences'):
            await memo.api.delete({**actual, 'kind': child['kind']})


def values_for(body: Mapping[str, Any], tenants: kopf.Index) -> dict[str, str]:
    metadata, spec = body['metadata'], body['spec']
    [tenant] = tenants[metadata['namespace']]
    serial = spec.get('revisionSerial')
    snapshot = f"g{metadata['generation']}" if serial is None else f's{serial}'
    revision = str(uuid.uuid5(uuid.UUID(metadata['uid']), snapshot))
    return {
        'name': metadata['name'],
        'namespace': metadata['namespace'],
        'uid': metadata['uid'],
        'image': spec['sourceRevisionConfig']['imageUri'],
        'tenantId': tenant,
        'revisionId': revision,
        'revisionShort': revision[:8],
        'now': datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ'),
    }


def there(child: Object, body: Mapping[str, Any], children: kopf.Index) -> Object | None:
    """The object in the place of this child, as last seen; another's is an error."""
    metadata = child['metadata']
    found = children.get((metadata['namespace'], child['kind'], metadata['name']))
    if not found:
        return None
    [actual] = found
    owner = actual['metadata']['labels'].get(UID_LABEL)
    # A tracing project is reused, whoever made it.
    if owner != body['metadata']['uid'] and child['kind'] != 'TracingProject':
        raise kopf.TemporaryError(f"{child['kind']} {metadata['name']} is there already and is not ours")
    return actual


async def make(
    text: str, body: Mapping[str, Any], values: Mapping[str, str], api: Api, children: kopf.Index
) -> None:
    child = filled(text, values)
    if there(child, body, children) is not None:
        return
    if child['kind'] == 'AppRevision':
        child['spec']['deploymentGeneration'] = body['metadata']['generation']
        child['spec']['revisionSerial'] = body['spec'].get('revisionSerial')
    await api.create(child)


async def apply(child: Object, body: Mapping[str, Any], api: Api, children: kopf.Index) -> None:
    actual = there(child, body, children)
    if actual is None or differs(child, actual):
        await api.apply(child)


async def report_on(
    kind: str, values: Mapping[str, str], api: Api, children: kopf.Index, body: Mapping[str, Any]
) -> None:
    wanted = filled(rendering.statuses[kind], values)
    actual = there(wanted, body, children) or {}
    status = reported(kind, values, actual.get('status', {}), 1)
    if differs(status, actual.get('status', {})):
        await api.apply({**wanted, 'status': status}, '/status')


def reported(kind: str, values: Mapping[str, str], before: Mapping[str, Any], generation: int) -> Object:
    """The status of this kind; what says what it said before keeps its time."""
    status = filled(rendering.statuses[kind], values)['status']
    status['observedGeneration'] = generation
    if status.get('state') is not None and status['state'] == before.get('state'):
        status['stateChangedAt'] = before['stateChangedAt']
    old = {condition['type']: condition for condition in before.get('conditions', [])}
    for condition in status.get('conditions', []):
        condition['observedGeneration'] = generation
        same = old.get(condition['type'])
        if same is not None and same['status'] == condition['status']:
            condition['lastTransitionTime'] = same['lastTransitionTime']
    return status
