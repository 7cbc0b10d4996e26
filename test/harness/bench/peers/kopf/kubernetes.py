"""The few calls that the operator makes, over one aiohttp session without a limit of its own."""

import base64
import json
import os
import ssl
import tempfile
from typing import Any

import aiohttp
import yaml

Object = dict[str, Any]

COLLECTIONS = {
    'AppDeployment': 'apis/davit.dev/v1alpha1/namespaces/{}/appdeployments',
    'AppRevision': 'apis/davit.dev/v1alpha1/namespaces/{}/apprevisions',
    'Deployment': 'apis/apps/v1/namespaces/{}/deployments',
    'NetworkPolicy': 'apis/networking.k8s.io/v1/namespaces/{}/networkpolicies',
    'PersistentVolumeClaim': 'api/v1/namespaces/{}/persistentvolumeclaims',
    'Secret': 'api/v1/namespaces/{}/secrets',
    'Service': 'api/v1/namespaces/{}/services',
    'StatefulSet': 'apis/apps/v1/namespaces/{}/statefulsets',
    'TracingProject': 'apis/davit.dev/v1alpha1/namespaces/{}/tracingprojects',
}


class Api:
    def __init__(self, session: aiohttp.ClientSession, field_manager: str) -> None:
        self._session = session
        self._field_manager = field_manager

    @classmethod
    def connect(cls, field_manager: str) -> 'Api':
        """As the kubeconfig says that KUBECONFIG names."""
        with open(os.environ['KUBECONFIG'], encoding='utf-8') as file:
            config = yaml.safe_load(file)
        cluster = config['clusters'][0]['cluster']
        with tempfile.NamedTemporaryFile() as authority:
            authority.write(base64.b64decode(cluster['certificate-authority-data']))
            authority.flush()
            context = ssl.create_default_context(cafile=authority.name)
        session = aiohttp.ClientSession(
            base_url=cluster['server'] + '/',
            headers={'Authorization': f"Bearer {config['users'][0]['user']['token']}"},
            connector=aiohttp.TCPConnector(ssl=context, limit=0),
            raise_for_status=True,
        )
        return cls(session, field_manager)

    async def close(self) -> None:
        await self._session.close()

    async def create(self, wanted: Object) -> None:
        path = COLLECTIONS[wanted['kind']].format(wanted['metadata']['namespace'])
        await self._send('POST', path, 'application/json', wanted, {'fieldManager': self._field_manager})

    async def apply(self, wanted: Object, subresource: str = '') -> None:
        query = {'fieldManager': self._field_manager, 'force': 'true'}
        await self._send('PATCH', path_of(wanted) + subresource, 'application/apply-patch+yaml', wanted, query)

    async def delete(self, actual: Object) -> None:
        """Exactly this object; one that has gone already is fine."""
        body = {'apiVersion': 'v1', 'kind': 'DeleteOptions', 'preconditions': {'uid': actual['metadata']['uid']}}
        try:
            await self._send('DELETE', path_of(actual), 'application/json', body, {})
        except aiohttp.ClientResponseError as error:
            if error.status != 404:
                raise

    async def _send(self, method: str, path: str, content_type: str, body: Object, query: dict[str, str]) -> None:
        headers = {'Content-Type': content_type}
        async with self._session.request(method, path, data=json.dumps(body), headers=headers, params=query) as answer:
            await answer.read()


def path_of(thing: Object) -> str:
    metadata = thing['metadata']
    return f"{COLLECTIONS[thing['kind']].format(metadata['namespace'])}/{metadata['name']}"
