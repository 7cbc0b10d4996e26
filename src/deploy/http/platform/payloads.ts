// The answer of GET /v2/platform: what people who deploy need to know of the platform's settings. No secret, and nothing that only
// an administrator acts on.

import { z } from 'zod';
import { id } from '../../../api/payload-fields.ts';
import { CODE_HOST_KINDS } from '../../../kinds/code-host-integration.ts';
import { DATABASE_DRIVERS } from '../../../kinds/database-names.ts';
import { HOSTINGS, SOURCES } from '../../../kinds/source-rules.ts';

const text = z.string();
const texts = z.array(text);
const size = z.record(text, z.number());

const Listed = z.object({ id, name: text });

export const Platform = z
  .object({
    tenant: z.object({ id, namespace: text }).describe('The tenant of the request.'),
    hosting: z.enum(HOSTINGS),
    sources: z.array(z.enum(SOURCES)).describe('Sources that deployments of this cluster may have.'),
    builds: z
      .object({
        available: z.boolean().describe('Whether images are built from sources.'),
        base_images: z
          .object({ python: text.nullable(), node: text.nullable() })
          .describe('Base images of generated Dockerfiles. null: the configuration file must name one (base_image).'),
        agent_server: text
          .nullable()
          .describe(
            'Python package of the server that builds add to graphs without one. null: the source must have a server.',
          ),
        package_indexes: z
          .object({ pip: text.nullable(), npm: text.nullable() })
          .describe("Package indexes of builds, without credentials. null: the package manager's own."),
        registry: text.nullable().describe('Registry of built and pushed images. null: the platform has none.'),
        user: text.describe('uid:gid of images made from a configuration file.'),
        concurrency: z.object({ per_tenant: z.int(), total: z.int() }).describe('Builds at once.'),
        timeout_seconds: z.int().describe('A build that takes longer has failed.'),
        upload_max_mb: z.int().describe('Largest upload, in megabytes (MiB).'),
        workspace_max_mb: z.int().describe('Largest unpacked source, in megabytes (MiB).'),
      })
      .meta({ id: 'PlatformBuilds' }),
    hosts: z
      .object({
        available: z.boolean().describe('Whether deployments get addresses.'),
        base_domain: text.nullable().describe('Domain of default addresses.'),
        claimable: texts.describe(
          'Hosts that this tenant may claim in custom_url. NAME stands for a name without a hyphen.',
        ),
      })
      .meta({ id: 'PlatformHosts' }),
    code_hosts: texts.describe('Hosts that integrations may name.'),
    integrations: z
      .array(Listed.extend({ kind: z.enum(CODE_HOST_KINDS), host: text }))
      .describe('Code host integrations that this tenant may use, for source_config.integration_id.'),
    listeners: z
      .array(Listed.extend({ namespaces: texts }))
      .describe("Listeners of this tenant, for source_config.listener_id, with their clusters' namespaces."),
    templates: z
      .array(
        z.object({
          name: text,
          image_uri: text.nullable(),
          repo_url: text.nullable(),
          repo_ref: text.nullable(),
          workflow_config_path: text.nullable(),
        }),
      )
      .describe(
        'What source internal_template may deploy. Where repo_ref or workflow_config_path is null, the deployment names it.',
      ),
    pods: z
      .object({
        port: z.int().describe('Default port of images.'),
        health_path: text.describe('Default health path of images.'),
        policy: text.describe('Pod Security Standard of the pods.'),
        progress_deadline_seconds: z.int().describe('A rollout without progress for this long has failed.'),
      })
      .meta({ id: 'PlatformPods' }),
    placement: z
      .object({
        node_selector: z.record(text, texts).describe('Labels of nodes that a part may select, each with its values.'),
        tolerations: texts.describe('Keys of the taints that a part may tolerate.'),
        runtime_classes: texts,
      })
      .meta({
        id: 'PlatformPlacement',
        description: 'What the placement of a part may name. limits.resources has the resources.',
      }),
    stores: z
      .object({
        own: z.boolean().describe('Whether Davit creates databases. If not, external ones or none are required.'),
        postgres_image: text.describe('Image of new databases.'),
        redis_image: text,
        drivers: z
          .array(z.enum(DATABASE_DRIVERS))
          .describe("Drivers that a deployment's own PostgreSQL may have: source_config.database.driver."),
        backups: z.boolean().describe('Whether the platform has a store for backups of databases.'),
        archives: z
          .boolean()
          .describe('Whether databases with driver cloudnative-pg can be archived, for restores to any point in time.'),
      })
      .meta({ id: 'PlatformStores' }),
    limits: z
      .object({
        cpu: z.number().nullable(),
        memory_mb: z.int().nullable(),
        scale: z.int().nullable(),
        storage_gi: z.int().nullable(),
        resources: z.record(text, z.union([z.int(), text])).nullable(),
        requests_per_minute: z.int().describe('Requests of one caller to this API. 0: no limit.'),
      })
      .meta({
        id: 'PlatformLimits',
        description: 'Largest values of a deployment. null: only the bounds of the schema.',
      }),
    default_type: text.describe('Preset of deployments without a deployment_type.'),
    sizes: z
      .record(text, z.object({ server: size, postgres: size, redis: size }))
      .describe('Default sizes and scale, by deployment type; plain is the preset without a type.'),
  })
  .meta({ id: 'Platform', description: 'What the platform offers, and its limits.' });
export type Platform = z.output<typeof Platform>;
