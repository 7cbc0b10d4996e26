// Images of the platform's registry, and whether they are for the tenant `team` with this path: asked at every door.

export const OWN = 'team-11111111';

const HOST = 'r.example:5000';
const DIGEST = `@sha256:${'a'.repeat(64)}`;

export interface ForeignImageCase {
  readonly what: string;
  readonly image: string;
  readonly isForeign: boolean;
}

export interface RegistryCases {
  readonly registry: Readonly<Record<string, string | boolean>> & { readonly host: string };
  readonly cases: readonly ForeignImageCase[];
}

const own = (what: string, image: string): ForeignImageCase => ({ what, image, isForeign: false });
const foreign = (what: string, image: string): ForeignImageCase => ({ what, image, isForeign: true });

export const FOREIGN_IMAGES: readonly RegistryCases[] = [
  {
    registry: { host: HOST },
    cases: [
      own('its own', `${HOST}/${OWN}/shop${DIGEST}`),
      own('another deployment of its own', `${HOST}/${OWN}/other:1`),
      own('a base image', `${HOST}/base/python:3.12`),
      own('another registry', 'docker.io/library/redis'),
      own('another registry whose name begins like it', 'r.example:50001/other-22222222/shop'),
      own('no registry', 'redis'),
      own('what belongs to no tenant', `${HOST}/tools/shell`),
      foreign('another tenant', `${HOST}/other-22222222/shop${DIGEST}`),
      foreign('another tenant, by a tag', `${HOST}/other-22222222/shop:latest`),
      foreign('a tenant whose name begins like its own', `${HOST}/${OWN}-22222222/shop`),
      foreign('another tenant, in capitals', 'R.EXAMPLE:5000/other-22222222/shop'),
      foreign('an earlier namespace of its name', `${HOST}/team-11111112/shop`),
    ],
  },
  {
    registry: { host: 'r.example', tokens: true },
    cases: [
      own('its own', `r.example/${OWN}/shop`),
      own('a base image', 'r.example/base/python:3.12'),
      foreign('what belongs to no tenant', 'r.example/tools/shell'),
      foreign('a name that the registry refuses', `r.example/${'a'.repeat(300)}`),
      foreign('the default port', 'r.example:443/other-22222222/shop'),
    ],
  },
  {
    registry: { host: 'r.example:443', repository: 'davit/images.all' },
    cases: [
      own('its own', `r.example/davit/images.all/${OWN}/shop`),
      own('what is beside the path of tenants', 'r.example/other-22222222/shop'),
      own('a path that looks like it', 'r.example/davit/imagesxall/other-22222222/shop'),
      foreign('below the path of tenants', 'r.example/davit/images.all/other-22222222/shop'),
      foreign('below the path of tenants, though no tenant', 'r.example:443/davit/images.all/shop'),
    ],
  },
  {
    registry: { host: '10.208.128.9', tokens: true },
    cases: [
      own('its own', `10.208.128.9/${OWN}/shop`),
      own('its own, with the default port', `10.208.128.9:443/${OWN}/shop`),
      own('another address', '10.208.128.10:5000/shop'),
      own('a user of Docker Hub whose name is a number', '1234/shop'),
      own('a tag that begins with a zero', 'redis:0123'),
      own('a repository by its digest', `registry.example:5000/shop${DIGEST}`),
      own('a name whose last label begins with a number', 'registry.1example/shop'),
      own('a Service of another name', 'registry.tools.svc:5000/shop'),
      foreign('another tenant', '10.208.128.9/other-22222222/shop'),
      ...[
        '10.208.128.9:0443',
        '10.208.128.9:',
        '010.208.128.9',
        '10.208.128.09:443',
        '10.208.32777',
        '10.13664265',
        '181436425:443',
        '0xad08009:443',
        '0XAD08009',
        '0xa.0xd0.0x80.0x9',
        '10.208.128.9.',
        'registry.example.:443',
        '[::ffff:10.208.128.9]',
        'davit-registry.davit-system.svc',
        'Davit-Registry.davit-system.SVC:443',
        'davit-registry.davit-system.svc.cluster.local',
      ].map((host) => foreign(`the host ${host}`, `${host}/other-22222222/shop`)),
      foreign('the id of an image', `sha256:${'6'.repeat(64)}`),
      foreign('the beginning of an id', 'sha256:607b'),
      foreign('the id of an image without its algorithm', '607b'.repeat(16)),
    ],
  },
  {
    registry: { host: 'davit-registry.davit-system.svc', tokens: true },
    cases: [
      own('its own, where the Service is the host', `davit-registry.davit-system.svc/${OWN}/shop`),
      foreign('another tenant, where the Service is the host', 'davit-registry.davit-system.svc/other-22222222/shop'),
    ],
  },
];
