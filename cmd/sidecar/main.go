// Command sidecar is the static helper inside deployments: a relay, the first process of a service
// with secrets, or the runner of commands in a service. The agent embeds it.
package main

import (
	"os"

	"github.com/nullops/nullops/agent/sidecar"
)

func main() { os.Exit(sidecar.Run(os.Args[1:], os.Stderr)) }
