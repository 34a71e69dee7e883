// For the console of a browser that shows the page of a forge-infer on this machine.
const socket = new WebSocket("ws://127.0.0.1:8080/forge/v1/stream");
socket.onmessage = (event) => console.log(event.data);
socket.onopen = () => {
  const ask = (id, body) => socket.send(JSON.stringify({ id, route: "/v1/completions", body }));
  ask("sum", { model: "forge-tiny", prompt: "What is 7+8?", temperature: 0, stream: true });
  ask("whole", { model: "forge-tiny", prompt: "What is 7+8?", temperature: 0 });
  ask("long", { model: "forge-tiny", prompt: "Where", max_tokens: 200, ignore_eos: true, stream: true });
  socket.send(JSON.stringify({ cancel: "long" }));
  socket.send("nonsense");
};
