// An agent without a model: reads the prompt, prints a response. Put any headless agent program in its place.
import { text } from 'node:stream/consumers';

const prompt = (await text(process.stdin)).trim();
const { AGENT_ROUTE, AGENT_EVENT, AGENT_DELIVERY_ID, AGENT_ATTEMPT } = process.env;
const [headline] = prompt.split('\n');

process.stdout.write(`[${AGENT_ROUTE}/${AGENT_EVENT}] attempt ${AGENT_ATTEMPT} of ${AGENT_DELIVERY_ID}: ${headline}\n`);
