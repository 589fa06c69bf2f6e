package compose

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/nullops/nullops/pipeline"
)

// readProcess fills in how the service's process is started and ended.
func (r *composeReader) readProcess(s types.ServiceConfig, step *pipeline.ServiceStep) {
	step.Entrypoint = readEntrypoint(s)
	if s.Command != nil && len(s.Command) == 0 && len(step.Entrypoint) == 0 {
		r.addNote(s.Name, "command", "it is empty, and does not remove the image's own command")
	}
	step.Init = s.Init != nil && *s.Init
	step.ReadOnly = s.ReadOnly
	switch {
	case s.User == "":
	case pipeline.IsUser(s.User):
		step.User = s.User
	default:
		r.addNote(s.Name, "user", "%q is no user; the image's user is taken", s.User)
	}
	switch {
	case s.StopSignal == "":
	case pipeline.IsSignal(s.StopSignal):
		step.StopSignal = s.StopSignal
	default:
		r.addNote(s.Name, "stop_signal", "%q is no signal; the image's signal is taken", s.StopSignal)
	}
	step.StopGraceSeconds = r.stopGrace(s)
	step.Tmpfs = r.readTmpfs(s)
	step.ExtraHosts = r.extraHosts(s)
}

// readEntrypoint keeps an entrypoint that is present but empty: as in Docker, it removes the
// image's own.
func readEntrypoint(s types.ServiceConfig) []string {
	if s.Entrypoint != nil && len(s.Entrypoint) == 0 {
		return []string{""}
	}
	return escapeAll(s.Entrypoint)
}

func (r *composeReader) stopGrace(s types.ServiceConfig) int {
	if s.StopGracePeriod == nil {
		return 0
	}
	written := time.Duration(*s.StopGracePeriod)
	grace := min(max(wholeSeconds(s.StopGracePeriod), 1), pipeline.MaxStopGraceSeconds)
	if written != time.Duration(grace)*time.Second {
		r.addNote(s.Name, "stop_grace_period", "%s becomes %d seconds; whole seconds from 1 to %d are "+
			"supported", written, grace, pipeline.MaxStopGraceSeconds)
	}
	return grace
}

// readTmpfs reads the field tmpfs, and the volumes of type tmpfs.
func (r *composeReader) readTmpfs(s types.ServiceConfig) []pipeline.Tmpfs {
	var all []pipeline.Tmpfs
	for _, text := range s.Tmpfs {
		target, options, _ := strings.Cut(text, ":")
		one := pipeline.Tmpfs{Path: path.Clean(target)}
		for option := range strings.SplitSeq(options, ",") {
			name, value, _ := strings.Cut(option, "=")
			var size types.UnitBytes
			err := size.DecodeMapstructure(value)
			switch {
			case option == "":
			case name == "size" && err == nil:
				one.SizeMiB = r.wholeMiB(s.Name, "tmpfs", target, int64(size))
			default:
				r.addNote(s.Name, "tmpfs", "the option %s of %s is not carried over", option, target)
			}
		}
		all = append(all, one)
	}
	for _, v := range s.Volumes {
		if v.Type != types.VolumeTypeTmpfs {
			continue
		}
		one := pipeline.Tmpfs{Path: path.Clean(v.Target)}
		if v.Tmpfs != nil {
			one.SizeMiB = r.wholeMiB(s.Name, "volumes", v.Target, int64(v.Tmpfs.Size))
		}
		if v.ReadOnly {
			r.addNote(s.Name, "volumes", "the tmpfs at %s can be written to", v.Target)
		}
		all = append(all, one)
	}
	return all
}

func (r *composeReader) wholeMiB(service, field, target string, bytes int64) int {
	size := (bytes + 1<<20 - 1) >> 20
	if size<<20 != bytes {
		r.addNote(service, field, "the size of %s is rounded up to %d MiB", target, size)
	}
	return int(size)
}

func (r *composeReader) extraHosts(s types.ServiceConfig) []pipeline.ExtraHost {
	var all []pipeline.ExtraHost
	for _, name := range slices.Sorted(maps.Keys(s.ExtraHosts)) {
		for _, address := range s.ExtraHosts[name] {
			_, err := netip.ParseAddr(address)
			switch {
			case address == "host-gateway":
				r.addNote(s.Name, "extra_hosts", "%s is left out, since services do not reach their node; "+
					"give an IP address", name)
			case err != nil || !pipeline.IsHostName(name):
				r.addNote(s.Name, "extra_hosts", "%s with the address %s is left out, since one of them is "+
					"malformed", name, address)
			default:
				all = append(all, pipeline.ExtraHost{Name: name, Address: address})
			}
		}
	}
	return all
}

// writeProcess is the reverse of readProcess.
func writeProcess(x *pipeline.ServiceStep, out map[string]any) {
	putList(out, "entrypoint", x.Entrypoint)
	if x.User != "" {
		out["user"] = x.User
	}
	if x.Init {
		out["init"] = true
	}
	if x.ReadOnly {
		out["read_only"] = true
	}
	if x.StopSignal != "" {
		out["stop_signal"] = x.StopSignal
	}
	if x.StopGraceSeconds > 0 {
		out["stop_grace_period"] = fmt.Sprintf("%ds", x.StopGraceSeconds)
	}
	var tmpfs, hosts []string
	for _, t := range x.Tmpfs {
		if t.SizeMiB > 0 {
			tmpfs = append(tmpfs, fmt.Sprintf("%s:size=%dm", t.Path, t.SizeMiB))
			continue
		}
		tmpfs = append(tmpfs, t.Path)
	}
	putList(out, "tmpfs", tmpfs)
	for _, h := range x.ExtraHosts {
		hosts = append(hosts, h.Name+":"+h.Address)
	}
	putList(out, "extra_hosts", hosts)
}
