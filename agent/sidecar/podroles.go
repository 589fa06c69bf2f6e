package sidecar

import (
	"context"
	"os"
)

// runPodRole performs a role that the helper has in pods, and reports whether args name one.
func runPodRole(ctx context.Context, args []string) (is bool, err error) {
	switch args[0] {
	case "place":
		run := ""
		if len(args) > 2 {
			run = args[2]
		}
		return true, placeHelper(ctx, args[1], run)
	case "accept":
		return true, acceptDelivery(args[1], os.Stdin)
	case "hold":
		holdContainer(ctx)
		return true, nil
	case "stop-signal":
		return true, sendStopSignal(ctx, args[1], args[2:])
	case "pack":
		return true, packVolume(args[1], os.Stdout)
	case "unpack":
		return true, unpackVolume(args[1], os.Stdin)
	case "volume-bytes":
		return true, measureVolume(args[1], os.Stdout)
	case "populate":
		return true, populateVolumes(args[1])
	case "mail":
		if len(args) != 3 {
			return true, errUsage
		}
		return true, serveMailPort(ctx, args[1], args[2])
	case "oom-kills":
		return true, printOOMKills(os.Stdout)
	}
	return false, nil
}
