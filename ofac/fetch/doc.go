// Package fetch downloads the sanctions list files that OFAC publishes.
//
// Purpose: get the files of one origin (the Sanctions List Service, the
// Treasury's older addresses, or an operator's mirror) into memory, within
// bounds of size, time and place: HTTPS only, no redirect and no name that leads
// into a private network, conditional requests so that an unchanged list costs
// nothing. This package does not judge the files: feed.LoadFiles reads them and
// package judge says whether they may replace the list in use.
//
// May import: the standard library (net/http), ofac/feed.
// Never: disk, any other room of the house. The caller decides when to fetch and
// how often to retry.
package fetch
