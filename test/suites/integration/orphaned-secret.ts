// What the set-up leaves behind and a test looks for.

export const LEFT = { namespace: 'left', name: 'lost--vars-1' } as const;
