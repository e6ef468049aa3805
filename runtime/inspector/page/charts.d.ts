/** Made by the page's build: the addresses of the laid-out charts by their machines' names. */
declare module 'virtual:charts' {
  export const chartUrls: Readonly<Record<string, string>>;
}
