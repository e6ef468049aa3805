/**
 * Branded names, and how they are kept distinct across profiles. A profile name and a route name are both strings; the
 * brands prevent passing one as the other.
 */

import { shellWord } from './shell-word.ts';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type ProfileName = Branded<'profile'>;
export type RouteName = Branded<'route'>;

/** The default profile is the home itself (HOME-1). */
export const defaultProfile = 'default' as ProfileName;

const profilePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** The user of the page, as named in the audit log. */
export const guestPattern = /^[\w.@+-]{1,64}$/;
/** The format of a dynamic route's name (SUB-3). */
export const dynamicRoutePattern = /^[a-z0-9][a-z0-9_-]*$/;

/** Parses a profile name; undefined if it could leave its folder. */
export function profileName(text: string): ProfileName | undefined {
  return profilePattern.test(text) ? (text as ProfileName) : undefined;
}

/** Any non-empty text can name a route of the config, because it is only compared. */
export function routeName(text: string): RouteName {
  return text as RouteName;
}

/**
 * A name made unique across profiles, such as `calendar` or `calendar@work`. An @ in the name itself is doubled, so that two
 * profiles never share a name.
 */
export function inProfile(name: string, profile: string): string {
  const own = name.includes('@') ? name.replaceAll('@', '@@') : name;
  return profile === defaultProfile ? own : `${own}@${profile}`;
}

/** The end of a printed command that chooses the profile, with a space before it; empty for the default profile. */
export function profileOption(profile: string): string {
  return profile === defaultProfile ? '' : ` --profile ${shellWord(profile)}`;
}
