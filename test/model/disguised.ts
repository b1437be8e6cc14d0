/**
 * Random organizations whose identifying values can be recognized: ids with many digits, and texts
 * that occur nowhere else, including names that are derived from addresses.
 */
import type fc from 'fast-check';
import { type OrganizationPlan, organizationArbitrary, USER_IDS } from './arbitrary.ts';
import type { Bundle, UserInput } from './bundle.ts';

/** Replace `USER_IDS`: some are within and some beyond the exact range of numbers. */
const DISGUISED_IDS = [
  ...[7_123_456_789_012_341n, 7_123_456_789_012_344n, 31_415_926n, 2n ** 53n + 987_654_321n],
  ...[-4_123_456_789_012_345_678n, 8_123_456_789_012_345_678n],
];

/** Texts that identify users, in any field. */
export const ADDRESS_PARTS = /qmail|hidden\.example/i;
export const GIVEN_NAMES = /Nymph/;
export const REASONS = /qreason/;

export const REAL_IDS: readonly bigint[] = DISGUISED_IDS;

function disguise(id: bigint): bigint {
  return DISGUISED_IDS[USER_IDS.indexOf(id)] ?? id;
}

/** Keeps the variety of values of `arbitrary.ts`, so that they change as often. */
function disguiseUser({ id, email, name, first_name, last_name, ...others }: UserInput): UserInput {
  const mark = USER_IDS.indexOf(id);
  const address = email.startsWith('other') ? `qmail${mark}x@hidden.example` : `qmail${mark}@hidden.example`;
  // Contains the local part of either address: names derived from an earlier address are not
  // recognized (decision 63).
  const local = `qmail${mark}x`;
  const disguised = (text: string) =>
    text === 'Riker' ? local : text === 'Juan de la Cruz' ? `<${address}>` : `${text} Nymph${mark}`;
  return {
    ...{ ...others, id: disguise(id), email: address },
    ...(name === undefined ? {} : { name: disguised(name) }),
    ...(first_name === undefined ? {} : { first_name: disguised(first_name) }),
    ...(last_name === undefined ? {} : { last_name: disguised(last_name) }),
  };
}

function disguiseBundle(bundle: Bundle): Bundle {
  return {
    ...bundle,
    users: bundle.users.map(disguiseUser),
    pins: bundle.pins.map((pin) => ({ ...pin, owner_id: disguise(pin.owner_id) })),
    events: bundle.events.map((event) => ({
      ...event,
      ...{ owner_id: disguise(event.owner_id), actor_id: disguise(event.actor_id) },
    })),
    memberships: bundle.memberships.map((one) => ({ ...one, user_id: disguise(one.user_id) })),
    points: bundle.points.map((one) => ({ ...one, user_id: disguise(one.user_id) })),
    adjustments: bundle.adjustments.map((one) => ({
      ...one,
      ...{ user_id: disguise(one.user_id), reason: `qreason ${one.reason}` },
    })),
  };
}

export const disguisedArbitrary: fc.Arbitrary<OrganizationPlan> = organizationArbitrary.map((plan) => ({
  ...plan,
  settings: { ...plan.settings, policy: undefined },
  bundles: plan.bundles.map(disguiseBundle),
}));
