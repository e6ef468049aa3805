/**
 * Names that must not be mixed up, and how they are told apart across profiles. A profile name and a route name are both
 * strings; their brands keep one from being passed for the other.
 */

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type ProfileName = Branded<'profile'>;
export type RouteName = Branded<'route'>;

/** The default profile is the home itself (HOME-1). */
export const defaultProfile = 'default' as ProfileName;

const profilePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** The form of a dynamic route's name (SUB-3). */
/** Who uses the page, as the audit log names them. */
export const guestPattern = /^[\w.@+-]{1,64}$/;
export const dynamicRoutePattern = /^[a-z0-9][a-z0-9_-]*$/;

/** Reads a profile name; undefined for one that could leave its folder. */
export function profileName(text: string): ProfileName | undefined {
  return profilePattern.test(text) ? (text as ProfileName) : undefined;
}

/** Any non-empty text can name a route of the config: it is only ever compared. */
export function routeName(text: string): RouteName {
  return text as RouteName;
}

/**
 * A name that is one's own in its profile, such as `calendar` or `calendar@work`. A name's own @ is doubled, so that no two
 * names in two profiles are written alike.
 */
export function inProfile(name: string, profile: string): string {
  const own = name.includes('@') ? name.replaceAll('@', '@@') : name;
  return profile === defaultProfile ? own : `${own}@${profile}`;
}
