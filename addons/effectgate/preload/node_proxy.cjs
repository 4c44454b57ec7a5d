// For `effectgate run` on a Node that cannot read HTTPS_PROXY by itself (before 22.21 and 24): every connection of fetch, http and
// https becomes a CONNECT tunnel through the proxy; loopback is reached directly. Loaded with NODE_OPTIONS=--require.
'use strict';
const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const tls = require('node:tls');

const LOOPBACK = new Set(['localhost', '127.0.0.1', '::1']);
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');
const [major, minor] = process.versions.node.split('.').map(Number);
const reads_environment = major >= 24 || (major === 22 && minor >= 21);
const proxy = process.env.HTTPS_PROXY ? new URL(process.env.HTTPS_PROXY) : null;

// Calls back (error) or (null, socket): a plain TCP stream to the target, through the proxy unless the target is loopback.
function tunnel(host, port, done) {
  if (LOOPBACK.has(host)) {
    const direct = net.connect(port, host);
    direct.once('error', done).once('connect', () => done(null, direct));
    return;
  }
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const headers = { host: authority, 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` };
  const request = http.request({
    host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: authority, headers, agent: false,
  });
  request.once('error', done).once('connect', (response, socket) => {
    if (response.statusCode === 200) return done(null, socket);
    socket.destroy();
    done(new Error(`effectgate: CONNECT ${authority} was answered ${response.statusCode} ${response.statusMessage}`));
  });
  request.end();
}

// The same, with TLS on top where `secure`; `options` are those of tls.connect.
function connect(secure, options, done) {
  const host = String(options.hostname || options.host).replace(/^\[|\]$/g, '');
  tunnel(host, Number(options.port) || (secure ? 443 : 80), (error, socket) => {
    if (error || !secure) return done(error, socket);
    const servername = options.servername || (net.isIP(host) ? undefined : host);
    const over = tls.connect({ ALPNProtocols: ['http/1.1'], ...options, host, path: undefined, socket, servername });
    over.once('error', done).once('secureConnect', () => { over.removeListener('error', done); done(null, over); });
  });
}

function use_agent(module, secure) {
  const agent = new module.Agent({ keepAlive: true, timeout: 60000 });
  agent.createConnection = (options, done) => { connect(secure, options, done); };
  module.globalAgent = agent;
}

function use_fetch() {
  void Headers;                                     // loads the bundled undici, which then sets its default dispatcher
  const Agent = globalThis[DISPATCHER].constructor;
  globalThis[DISPATCHER] = new Agent({ connect: (options, done) => connect(options.protocol === 'https:', options, done) });
}

if (proxy && !reads_environment) {
  use_agent(http, false);
  use_agent(https, true);
  use_fetch();
}
