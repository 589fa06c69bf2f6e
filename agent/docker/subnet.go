package docker

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
)

// freeSubnet returns the first subnet of the range that overlaps nothing.
func freeSubnet(pool netip.Prefix, size int, taken []netip.Prefix) (netip.Prefix, bool) {
	base := binary.BigEndian.Uint32(pool.Masked().Addr().AsSlice())
	for i := range countSubnets(pool, size) {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], base+uint32(i)<<(32-size))
		candidate := netip.PrefixFrom(netip.AddrFrom4(a), size)
		if !overlapsAny(candidate, taken) {
			return candidate, true
		}
	}
	return netip.Prefix{}, false
}

// freeSubnets is how many more deployments fit into a range.
func freeSubnets(pool netip.Prefix, size int, taken []netip.Prefix) (free int) {
	base := binary.BigEndian.Uint32(pool.Masked().Addr().AsSlice())
	inside := slices.DeleteFunc(slices.Clone(taken), func(p netip.Prefix) bool {
		return !p.Overlaps(pool)
	})
	for i := range countSubnets(pool, size) {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], base+uint32(i)<<(32-size))
		if !overlapsAny(netip.PrefixFrom(netip.AddrFrom4(a), size), inside) {
			free++
		}
	}
	return free
}

// countSubnets is how many deployments fit into a range.
func countSubnets(pool netip.Prefix, size int) int { return 1 << (size - pool.Bits()) }

func overlapsAny(p netip.Prefix, others []netip.Prefix) bool {
	return slices.ContainsFunc(others, p.Overlaps)
}

// hostRoutes reads /proc/net/route: a subnet that the host already routes
// elsewhere must not be taken. The default route is no reason.
func hostRoutes(r io.Reader) ([]netip.Prefix, error) {
	var routes []netip.Prefix
	lines := bufio.NewScanner(r)
	for first := true; lines.Scan(); first = false {
		fields := strings.Fields(lines.Text())
		if first || len(fields) < 8 {
			continue
		}
		p, err := parseRoute(fields[1], fields[7])
		if err != nil {
			return nil, err
		}
		if p.Bits() > 0 {
			routes = append(routes, p)
		}
	}
	return routes, lines.Err()
}

// parseRoute reads a destination and a mask, both in the CPU's byte order.
func parseRoute(destination, mask string) (netip.Prefix, error) {
	d, err := hex.DecodeString(destination)
	if err != nil || len(d) != 4 {
		return netip.Prefix{}, fmt.Errorf("route %q is not four bytes", destination)
	}
	m, err := hex.DecodeString(mask)
	if err != nil || len(m) != 4 {
		return netip.Prefix{}, fmt.Errorf("route mask %q is not four bytes", mask)
	}
	ones := bits.OnesCount32(binary.BigEndian.Uint32(m))
	var a [4]byte
	binary.NativeEndian.PutUint32(a[:], binary.BigEndian.Uint32(d))
	return netip.PrefixFrom(netip.AddrFrom4(a), ones), nil
}
