#!/usr/bin/env bash
# Runs a benchmark on several network namespaces of this machine, each behind a link of limited rate, to check the
# predictions of scaling.py. Requires root.
#
#   scaling_namespaces.sh RANKS MBIT build/mpi/tools/tapeformer bench train-step --config gpt-nano --threads 1
set -euo pipefail

ranks=$1
rate=$2
shift 2

folder=$(mktemp -d)
cleanup() {
  for ((i = 1; i <= ranks; i++)); do
    ip link del "tfout$i" 2>/dev/null || true  # deleting the namespace would remove it only after some time
    ip netns del "tf$i" 2>/dev/null || true
  done
  ip link del tfbridge 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT

ip link add tfbridge type bridge
ip link set tfbridge up
for ((i = 1; i <= ranks; i++)); do
  ip netns add "tf$i"
  ip link add "tfout$i" type veth peer name eth0 netns "tf$i"
  ip link set "tfout$i" master tfbridge up
  ip -n "tf$i" addr add "10.99.0.$i/24" dev eth0
  ip -n "tf$i" link set eth0 up
  ip -n "tf$i" link set lo up
  # The rank's side of the link queues what it sends.
  ip netns exec "tf$i" tc qdisc add dev eth0 root tbf rate "${rate}mbit" burst 128kb latency 400ms
  printf '10.99.0.%d slots=1\n' "$i" >>"$folder/hosts"
done

# Run by Open MPI instead of ssh: "HOST command ..." in that host's namespace.
cat >"$folder/agent" <<'AGENT'
#!/usr/bin/env bash
host=$1
shift
exec ip netns exec "tf${host##*.}" bash -c "$*"
AGENT
chmod +x "$folder/agent"

ip netns exec tf1 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n "$ranks" --hostfile "$folder/hosts" \
  --mca plm_rsh_agent "$folder/agent" --mca btl tcp,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 \
  --bind-to none "$@"
