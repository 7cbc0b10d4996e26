// The commands of databases, their backups and their versions, in the order of the help.

import type { Command } from '../line/command.ts';
import { backupCommand } from './backup.ts';
import { backupsCommand } from './backups.ts';
import { cloneCommand } from './clone.ts';
import { databaseCommand } from './database.ts';
import { datastoresCommand } from './datastores.ts';

export const DATABASE_COMMANDS: readonly Command[] = [
  backupCommand,
  backupsCommand,
  cloneCommand,
  databaseCommand,
  datastoresCommand,
];
