// Sentences of the HTTP API by which kubectl-davit decides. Imports no zod at run time, because it bundles them.

/** status_message while the rest of the answer is about the deployment before its last change. */
export const NOT_PROCESSED = 'Davit has not processed the last change yet.';
