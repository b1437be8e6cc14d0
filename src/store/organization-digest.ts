/** What identifies an organization outside its catalog: a digest of its secret. */
import { hash } from 'node:crypto';

/** In hexadecimal digits; reveals nothing about the secret, which is random. */
export function organizationDigest(secret: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from('corkboard organization\0'), secret]));
}
