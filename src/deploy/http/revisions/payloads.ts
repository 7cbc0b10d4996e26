// Requests and answers of the revisions' endpoints.

import { z } from 'zod';
import { id, time } from '../../../api/payload-fields.ts';
import { Uuid } from '../../../kinds/primitives.ts';
import { REVISION_STATES } from '../../../kinds/revision-states.ts';
import { SOURCES } from '../../../kinds/source-rules.ts';
import { DeploymentPath, flag, once, paging, queryListOf, SourceRevisionConfigResponse } from '../payloads.ts';

export const RevisionPath = DeploymentPath.extend({ revision_id: Uuid.describe('Id of the revision.') });

export const ListRevisions = z.strictObject({
  ...paging,
  status: queryListOf(z.enum(REVISION_STATES)).describe(
    'States separated by commas. Matches revisions in any of these.',
  ),
  changes: once(z.boolean(), flag)
    .default(false)
    .meta({ default: false, description: 'true: `changes` of each revision is in the answer. Default: false.' }),
});

export type ListRevisions = z.output<typeof ListRevisions>;

const value = z.string().nullable();

export const FieldChanges = z.array(
  z.object({
    field: z.string().describe('Path of the field. A variable of secrets is named secrets.NAME.'),
    kind: z.enum(['added', 'removed', 'changed']),
    from: value.describe('null if it was not there, and for a hidden value.'),
    to: value.describe('null if it is removed, and for a hidden value.'),
  }),
);

export const Revision = z
  .object({
    id,
    name: z.string().describe('Name of its AppRevision.'),
    created_at: time,
    updated_at: time,
    status: z.enum(REVISION_STATES),
    status_message: z.string().nullable().describe('The cause of the status, for people.'),
    requested_by: z
      .string()
      .nullable()
      .describe(
        'Username of the person who requested it. null if the change does not name one, or if it combines several changes.',
      ),
    interrupted_by: z
      .string()
      .nullable()
      .describe(
        'Username of the person who interrupted its build. null if it was not interrupted, or the request does not name one.',
      ),
    commit_author: z
      .string()
      .nullable()
      .describe(
        'Author that the commit names. The committer can write any name, which is not verified. null if it is not known.',
      ),
    commit_message: z
      .string()
      .nullable()
      .describe('First line of the message of the commit, which is not verified. null if it is not known.'),
    source: z.enum(SOURCES),
    source_revision_config: SourceRevisionConfigResponse,
    image: z
      .string()
      .nullable()
      .describe('The image that it runs, by digest if Davit built it. null if it is not known yet.'),
    rollback_to: id.nullable().describe('Id of the revision to which it rolled back. null if it is not a rollback.'),
    changes: z
      .object({
        since: id.nullable().describe('The next older revision that is kept. null for the oldest one.'),
        may_lack_earlier: z
          .boolean()
          .describe('Whether revisions between the two, or before the oldest one, may no longer be kept.'),
        fields: FieldChanges.describe('What differs, ordered by field. Empty for the oldest one.'),
      })
      .nullable()
      .describe(
        'What differs from the previous revision. null unless the request has changes=true, and for a revision that was not created.',
      ),
    from_file: z
      .object({
        path: z.string().describe('davit_file of the deployment when the revision was made.'),
        fields: z
          .array(
            z.object({ field: z.string().describe('Path of the field, such as env.LOG_LEVEL.'), value: z.string() }),
          )
          .describe('The values of the revision that come from the file, because the deployment does not set them.'),
        not_taken: z
          .array(z.string())
          .describe("The file's fields that only the deployment sets, if their values differ."),
      })
      .nullable()
      .describe('What the davit.yaml at the commit of the revision gave. null if none was read.'),
  })
  .meta({
    id: 'Revision',
  });
export type Revision = z.output<typeof Revision>;

export const RevisionList = z
  .object({ resources: z.array(Revision), offset: z.int().min(0).describe("The next page's offset.") })
  .meta({ id: 'RevisionList' });
export type RevisionList = z.output<typeof RevisionList>;

export const DiffQuery = z.object({
  from: Uuid.optional().describe('Id of the revision that it is compared with. Default: the newest one.'),
});

export const RevisionDiff = z
  .object({
    from: id,
    to: id,
    changes: FieldChanges.describe('Ordered by field. The scale is not part of a revision.'),
  })
  .meta({
    id: 'RevisionDiff',
  });
export type RevisionDiff = z.output<typeof RevisionDiff>;

/** The body of a request without fields: sent fields are reported as unknown. */
export const NoFields = z.object({}).meta({ id: 'NoFields', description: 'Has no fields.', examples: [{}] });
