// Package ops is the operator's side of the daemon: health for probes, metrics for Prometheus, a page for people.
//
//   - /livez only answers. It says that the process runs, and nothing that goes on outside of it can change that: a
//     supervisor's restart heals neither a consumer nor Prefect.
//   - /readyz is 200 while the daemon does its work: the store is open, Prefect was read lately, nothing is paused, and
//     nobody has asked it to stop. Else it is 503, with the reasons in words. With ?verbose it is JSON.
//   - /startupz is 200 once the start is over.
//   - /metrics and / (the page) may ask for a user and a password; the probes never do.
//
// A consumer that is down does not make the daemon unready: it then does what it is for and keeps the events, and a
// readiness that turned red would only block the rollout of the setting that mends the matter. How the consumers
// stand is shown in words by /readyz?verbose and by the page, and metrics and alerts are made for it.
package ops
