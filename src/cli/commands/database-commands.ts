// The commands of databases and their backups, in the order of the help.

import type { Command } from '../line/command.ts';
import { backupCommand } from './backup.ts';
import { backupsCommand } from './backups.ts';
import { cloneCommand } from './clone.ts';
import { databaseCommand } from './database.ts';

export const DATABASE_COMMANDS: readonly Command[] = [backupCommand, backupsCommand, cloneCommand, databaseCommand];
