// The package has no types. These are the parts that tests use.

declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  interface Interaction {
    readonly prompt: { readonly name: string };
    readonly params: { readonly client_id: string; readonly scope?: string; readonly resource?: string };
    readonly session?: { readonly accountId: string };
  }

  export default class Provider {
    readonly Grant: new (of: {
      readonly accountId: string;
      readonly clientId: string;
    }) => Grant;
    constructor(issuer: string, configuration: object);
    use(
      middleware: (
        context: { readonly oidc?: { readonly route?: string; readonly params?: { readonly token?: string } } },
        next: () => Promise<void>,
      ) => Promise<void>,
    ): void;
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
    on(event: 'access_token.saved', listener: (token: { readonly aud?: string }) => void): void;
    on(
      event: string,
      listener: (context: { readonly oidc: { readonly params?: { readonly grant_type?: string } } }) => void,
    ): void;
  }
}
