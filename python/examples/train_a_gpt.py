"""Trains a GPT with a loop of one's own: it learns to count.

Prints:
step 100  loss 0.0...
step 200  loss 0.0...
7 8 9 -> 0
"""

import tapeformer as tape

tape.manual_seed(1)
model = tape.models.Gpt(vocab=10, d_model=32, layers=2, heads=4, max_length=16, dropout=0)
adamw = tape.optim.AdamW(model.parameters(), lr=3e-3)
schedule = tape.optim.CosineSchedule(adamw, warmup=20, total=200)
for step in range(1, 201):
    ids = tape.remainder(tape.randint(0, 10, (16, 1)) + tape.tensor(list(range(17))), 10)  # 7 8 9 0 1 ...
    loss = tape.cross_entropy(model(ids[:, :16]), ids[:, 1:])
    adamw.zero_grad()
    loss.backward()
    tape.optim.clip_grad_norm(model.parameters(), 1.0)
    adamw.step()
    schedule.step()
    if step % 100 == 0:
        print(f"step {step}  loss {loss.item():.4f}")

model.eval()
print("7 8 9 ->", int(model(tape.tensor([[7, 8, 9]])).argmax(-1)[0, 2]))  # 7 8 9 -> 0
