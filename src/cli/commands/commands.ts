// All commands, in the order of the help.

import type { Command } from '../line/command.ts';
import { backupCommand } from './backup.ts';
import { backupsCommand } from './backups.ts';
import { cloneCommand } from './clone.ts';
import { completeCommand, completionCommand } from './completion.ts';
import { databaseCommand } from './database.ts';
import { datastoresCommand } from './datastores.ts';
import { deleteCommand } from './delete.ts';
import { deployCommand } from './deploy.ts';
import { envCommand } from './env.ts';
import { execCommand } from './exec.ts';
import { exportCommand } from './export.ts';
import { initCommand } from './init.ts';
import { listenerCommand } from './listener.ts';
import { logsCommand } from './logs.ts';
import { runCommand } from './one-off.ts';
import { openCommand } from './open.ts';
import { platformCommand } from './platform.ts';
import { restartCommand } from './restart.ts';
import { diffCommand, revisionsCommand } from './revisions.ts';
import { rollbackCommand } from './rollback.ts';
import { scaleCommand } from './scale.ts';
import { schemaCommand } from './schema.ts';
import { secretsCommand } from './secrets.ts';
import { statusCommand } from './status.ts';
import { tasksCommand } from './tasks.ts';
import { waitCommand } from './wait.ts';

export const COMMANDS: readonly Command[] = [
  deployCommand,
  statusCommand,
  waitCommand,
  logsCommand,
  openCommand,
  execCommand,
  runCommand,
  tasksCommand,
  backupCommand,
  backupsCommand,
  cloneCommand,
  databaseCommand,
  datastoresCommand,
  scaleCommand,
  secretsCommand,
  envCommand,
  restartCommand,
  revisionsCommand,
  diffCommand,
  rollbackCommand,
  initCommand,
  exportCommand,
  schemaCommand,
  deleteCommand,
  platformCommand,
  listenerCommand,
  completionCommand,
  completeCommand(() => COMMANDS),
];
