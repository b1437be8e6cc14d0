/** How statements of xAPI identify an agent. */
import { hash } from 'node:crypto';
import { Refusal } from '../fields/refusal.ts';
import { type FormatSource, type Identity, isObject, textOf } from './format.ts';

const MAILTO = 'mailto:';

interface XapiIdentity {
  /**
   * The identity, after the one that was used for it up to version 0.2, which still counts for
   * published users.
   */
  readonly identities: readonly Identity[];
  /** Given if it identifies the agent. */
  readonly email?: string;
  /** As `mbox_sha1sum`, in small letters; given if it identifies the agent. */
  readonly digest?: string;
}

/** Throws `Refusal` when the agent has no identifier. */
export function identityOf(agent: FormatSource, name: string): XapiIdentity {
  const { account, mbox } = agent;
  if (typeof mbox === 'string' && mbox.startsWith(MAILTO)) {
    const email = mbox.slice(MAILTO.length);
    const small = mbox.toLowerCase();
    // The digest, so that an agent is the same user with `mbox` and with `mbox_sha1sum`.
    const identities = [small, hash('sha1', small)].map((text) => ({ text, word: email, kind: 'mbox' }));
    return { identities, email };
  }
  if (isObject(account)) {
    const login = textOf(account, 'name', `${name}.account.name`);
    const homePage = textOf(account, 'homePage', `${name}.account.homePage`);
    const host = URL.canParse(homePage) ? new URL(homePage).host : 'account';
    return { identities: [{ text: `${homePage} ${login}`, word: login, kind: 'account', host }] };
  }
  const { mbox_sha1sum: written, openid } = agent;
  if (typeof written === 'string') {
    const digest = written.toLowerCase();
    return { identities: [written, digest].map((text) => ({ text, word: text, kind: 'sha1' })), digest };
  }
  if (typeof openid === 'string') return { identities: [{ text: openid, word: openid, kind: 'openid' }] };
  throw new Refusal(name, 'has neither mbox, mbox_sha1sum, openid nor account');
}
