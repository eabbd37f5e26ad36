// Command image builds the container image without a container engine, and starts it.
//
// Purpose: run the instructions of deploy/docker/Dockerfile, from that very file, over
// the build context that .dockerignore leaves of the files git tracks, so that a
// Dockerfile which cannot be built fails in CI. It needs root on Linux.
//
// A stage that begins with a named image runs on an overlay of this machine's own root,
// which must hold the same Go and the same certificates as that image; what the stage
// writes is thrown away. A stage that begins with scratch is an empty folder. The last
// stage is then started as a container would start it: changed root, the image's user,
// its environment and its entry point, on loopback. An instruction that this program
// does not know is an error.
//
// May import: the standard library and patternmatcher, which reads .dockerignore as
// Docker does. Never: the service's rooms.
package main
