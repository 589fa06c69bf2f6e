// Command sidecar is the static helper inside deployments: a gate, or the
// first process of a service with secrets. The agent carries it embedded.
package main

import (
	"os"

	"github.com/nullops/nullops/agent/sidecar"
)

func main() { os.Exit(sidecar.Run(os.Args[1:], os.Stderr)) }
