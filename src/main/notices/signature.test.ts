import { expect, it } from 'vitest';
import { signedHeaders, signingKey } from './signature.ts';

it('signs as the libraries of Standard Webhooks do', () => {
  const key = signingKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n') ?? expect.fail('no key');
  expect(signedHeaders(key, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}')).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

it.each(['', 'whsec_', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_c2hvcnQ=', `whsec_${'A'.repeat(100)}`])(
  'takes no key from %j',
  (secret) => {
    expect(signingKey(secret)).toBeUndefined();
  },
);
