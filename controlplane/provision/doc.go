// Package provision makes machines nodes over SSH, as an alternative to the line
// that a person copies: it uploads this very program, checks the container
// engine, starts the agent and waits until the link stands.
//
// What it promises:
//
//   - Nothing is sent to a host whose key was not confirmed by a person first. A
//     host that shows another key is refused, whatever the reason.
//   - The agent's certificate is read from the agent itself over that connection,
//     and is the only one that first contact accepts.
//   - No shell line is put together from input. Each argument is quoted, each
//     path comes from a small alphabet, and secrets travel as files over SFTP or
//     on standard input, never as arguments.
//   - Each step is stored with its output, secrets masked. An attempt ends as
//     ready or as error, and what ended is not continued: a new attempt begins
//     from the start, and finds what is there already. An attempt whose control
//     plane dies is ended by the next one that looks.
//
// Where systemd runs, the agent becomes a unit. Elsewhere it becomes a container
// that the machine's own Docker restarts, from an image that is made there of
// nothing but the program: no registry is needed. Both share the paths of
// controlplane.ProvisionPlan.
package provision
