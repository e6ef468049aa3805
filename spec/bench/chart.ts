/** Draws bars as an SVG that is read on light and on dark pages. */

export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly note: string;
}

const width = 760;
const nameWidth = 260;
const rowHeight = 30;
const barHeight = 16;
const top = 44;

export function chartOf(title: string, bars: readonly Bar[]): string {
  const max = Math.max(...bars.map(({ value }) => value), 1);
  const room = width - nameWidth - 120;
  const rows = bars.map(({ name, value, note }, index) => {
    const y = top + index * rowHeight;
    const length = Math.max(1, (value / max) * room);
    const kind = name.startsWith('gateway') ? 'own' : 'other';
    return [
      `  <text class="name" x="${nameWidth - 10}" y="${y + 13}">${escaped(name)}</text>`,
      `  <rect class="${kind}" x="${nameWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2"/>`,
      `  <text x="${(nameWidth + length + 8).toFixed(1)}" y="${y + 13}">${value.toFixed(1)} · ${escaped(note)}</text>`,
    ].join('\n');
  });
  const height = top + bars.length * rowHeight + 10;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
  <style>
    text { font: 13px system-ui, sans-serif; fill: #24292f }
    .title { font-weight: 600 }
    .name { text-anchor: end }
    .own { fill: #2f6fdb }
    .other { fill: #9aa4af }
    @media (prefers-color-scheme: dark) { text { fill: #d7dde4 } .own { fill: #6aa1ff } .other { fill: #6b7580 } }
  </style>
  <text class="title" x="10" y="22">${escaped(title)}</text>
${rows.join('\n')}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
