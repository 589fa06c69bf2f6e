package main

const scalePage = `# How costs grow

<!-- Written by ` + "`make bench-scale`" + `; edit tools/fleet instead. -->

Measured on %s at commit %s. Load of the machine before the measurement, caused by other work: %s.
[A fleet of agents](fleet.md) says how agents are measured; the agents, PostgreSQL and the control
plane share the machine. The figures are also in [scale.json](scale.json).

%s
Each list is asked for a hundred times, one after the other. Of the deployments, nine of ten
are gone and kept as history. An event is a change of one deployment that a thousand open lists
follow; the time runs from the request that changes it.

## Where the curves bend

- **Agents at rest** cost a ping every ten seconds and a report once a minute, so the CPU grows
  with their number and nothing else. An open page, a run that waits for room, and a busy machine
  cost more for the nodes concerned: each measurement is reported then.
- **A restart** costs a handshake for each agent, at both ends. It is paced, so that people's
  requests get their share; the time until all are online grows with the number of agents.
- **Deployments that are gone** cost disk only: what is asked all the time reads what is present
  (indexes of migration 103; a test bounds the rows that are read). A list by name and a search
  read everything that fits, and grow with what is present.
- **Listeners** cost one encoded event each. A change is read once for all of them.

Beyond ten thousand agents nothing is measured. On one machine, the simulated agents would take the
processor from the control plane long before.

## What would have to change beyond, on paper

- **50,000 agents** at rest are 5,000 pings and 830 reports a second: about half a core by the
  figures above, 1.4 GiB of memory, and four minutes for a restart on two cores. Two control
  planes halve that: each holds the leases of its nodes. What grows with all nodes in each control
  plane is the comparison of digests every two seconds and the renewal of leases every three; both
  would have to become incremental (rows that changed since the last mark, one lease per control
  plane instead of one per node).
- **Measurements** of 50,000 nodes are 10,000 rows a second. Single ones would be kept by the
  agents and read on demand, as logs of services are, so that the database gets minutes only.
- **A million deployments**: history moves to partitions by month, which are dropped instead of
  deleted; names get a trigram index for the search; lists by name page along an index.
- **10,000 listeners**: an event is encoded once for each set of rights instead of once for each
  listener, and control planes share the listeners.
`
