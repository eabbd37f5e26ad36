package gateway

import (
	"slices"
	"strings"
)

// A path is compared as bytes. What two servers could read differently, such as an escape, an empty
// segment or a parameter of a segment, is no path of a map, so that no route of the API behind is
// reached by another name than the map has for it.

// pathMax is the length of the longest path of a request.
const pathMax = 2048

const plainLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()+,=:@/"

// isPlainPath tells whether all servers read a path alike.
func isPlainPath(path string) bool {
	if path == "" || path[0] != '/' || len(path) > pathMax || strings.Trim(path, plainLetters) != "" {
		return false
	}
	return !strings.Contains(path, "//") && !strings.Contains(path+"/", "/./") && !strings.Contains(path+"/", "/../")
}

// isPattern tells whether segments are a plain path in which stars may stand for segments.
func isPattern(segments []string) bool {
	example := slices.Clone(segments)
	for i, segment := range example {
		if segment == "*" {
			example[i] = "x"
		}
	}
	return isPlainPath(strings.Join(example, "/"))
}

// find returns the route of a request; nil: no route names it.
func (p *profile) find(method, path string) *route {
	segments := strings.Split(path, "/")
	for _, r := range p.Routes {
		if r.Match.Method == method && slices.EqualFunc(r.segments, segments, matchesSegment) {
			return r
		}
	}
	return nil
}

// matchesSegment: a star is one segment, and an empty one is none.
func matchesSegment(pattern, segment string) bool {
	return pattern == segment || pattern == "*" && segment != ""
}

// resembles tells whether a lenient server could take a request, which no route names, for one that
// pays: letters in another case, a slash at its end.
func (p *profile) resembles(method, path string) bool {
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	return slices.ContainsFunc(p.Routes, func(r *route) bool {
		return !r.Allow && strings.EqualFold(r.Match.Method, method) && slices.EqualFunc(r.segments, segments, func(pattern, segment string) bool {
			return pattern == "*" || strings.EqualFold(pattern, segment)
		})
	})
}

// overlaps tells whether one request can be that of both routes.
func (r *route) overlaps(other *route) bool {
	return r.Match.Method == other.Match.Method && slices.EqualFunc(r.segments, other.segments, func(a, b string) bool {
		return a == b || a == "*" || b == "*"
	})
}
