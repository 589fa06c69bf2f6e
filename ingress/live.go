package ingress

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// liveScript updates a page while something is in progress. Reloading the whole page would
// lose the keyboard focus each time, so the script replaces only the text, and reloads when
// the page would be a different one or the service answers. It is constant, because the
// page's policy allows it by its hash; it reads variable values from attributes of the
// page.
const liveScript = `var b=document.body,w=b.dataset.retry*1e3;` +
	`function put(t){var d=new DOMParser().parseFromString(t,"text/html");` +
	`[".lead",".steps","dl"].forEach(function(s){` +
	`var o=document.querySelector(s),n=d.querySelector(s);` +
	`if(o&&n&&o.innerHTML!==n.innerHTML)o.replaceChildren.apply(o,n.childNodes)})}` +
	`function again(){setTimeout(look,w)}` +
	`function look(){fetch(location.href,{headers:{Accept:"text/html","` + lookHeader + `":"1"},` +
	`redirect:"manual",cache:"no-store",signal:AbortSignal.timeout(3e4)}).then(function(r){` +
	`if(r.headers.get("` + stateHeader + `")!==b.dataset.state)location.reload();` +
	`else return r.text().then(put).then(again)}).catch(again)}again()`

const (
	// stateHeader names what a page is about beyond its details and the time.
	stateHeader = "Nullops-State"
	// lookHeader is on the requests of pages that look by themselves.
	lookHeader = "Nullops-Look"
)

// State distinguishes pages that differ in more than their script exchanges.
func (p *page) State() string {
	sum := sha256.Sum256(fmt.Append(nil, p.Status, p.Kind, p.Glyph, p.Title, p.Link, p.Act,
		len(p.Steps) > 0))
	return hex.EncodeToString(sum[:8])
}
