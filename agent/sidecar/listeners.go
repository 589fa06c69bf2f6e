package sidecar

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxSockets bounds how much of a table of sockets is read. The kernel lists the
	// sockets that listen first.
	maxSockets = 1 << 20
	// stateListen is TCP_LISTEN in the kernel's tables.
	stateListen = "0A"
)

// FindLoopbackOnly returns the loopback addresses on which something listens at a
// port, and none when something listens there on another address as well. net is
// the folder with a network namespace's tables tcp and tcp6, such as /proc/1/net.
func FindLoopbackOnly(net string, port int) ([]netip.AddrPort, error) {
	var all []netip.AddrPort
	for _, table := range []string{"tcp", "tcp6"} {
		found, err := parseListeners(filepath.Join(net, table), port)
		// A kernel without IPv6 has no tcp6.
		if err != nil && !(table == "tcp6" && errors.Is(err, os.ErrNotExist)) {
			return nil, err
		}
		all = append(all, found...)
	}
	for _, a := range all {
		if !a.Addr().IsLoopback() {
			return nil, nil
		}
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all), nil
}

// parseListeners returns the addresses that a table says something listens on at a port.
func parseListeners(table string, port int) (all []netip.AddrPort, err error) {
	f, err := os.Open(table)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(io.LimitReader(f, maxSockets))
	for lines.Scan() {
		// "0: 0100007F:1F90 00000000:0000 0A …": number, address, peer, state.
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != stateListen {
			continue
		}
		at, ok := parseSocket(fields[1])
		if ok && int(at.Port()) == port && at.Addr() != dockerResolver {
			all = append(all, at)
		}
	}
	return all, lines.Err()
}

// dockerResolver is where Docker answers DNS inside of containers, at a random
// port.
var dockerResolver = netip.AddrFrom4([4]byte{127, 0, 0, 11})

// parseSocket reads an address as the kernel's tables have it: words of four bytes
// in the machine's own order, and the port, all in hexadecimal.
func parseSocket(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	n, bad := strconv.ParseUint(port, 16, 16)
	if err != nil || bad != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	at, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(at.Unmap(), uint16(n)), ok
}

// printLoopbackOnly prints one address a line.
func printLoopbackOnly(port string, to io.Writer) error {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return errUsage
	}
	all, err := FindLoopbackOnly("/proc/self/net", int(n))
	for _, at := range all {
		_, _ = io.WriteString(to, at.String()+"\n")
	}
	return err
}
