// Command sidecar is the static helper inside deployments: a gate, the
// first process of a service with secrets, or what runs commands in a service.
// The agent carries it embedded.
package main

import (
	"os"

	"github.com/nullops/nullops/agent/sidecar"
)

func main() { os.Exit(sidecar.Run(os.Args[1:], os.Stderr)) }
