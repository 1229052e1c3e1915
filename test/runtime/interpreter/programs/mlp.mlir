// Three layers with relu: relu(relu(x W0' + b0) W1' + b1) W2' + b2.
func.func @mlp(%x: !torch.vtensor<[?,?],f32> {tierup.name = "x"},
               %w0: !torch.vtensor<[?,?],f32> {tierup.name = "w0"}, %b0: !torch.vtensor<[?],f32> {tierup.name = "b0"},
               %w1: !torch.vtensor<[?,?],f32> {tierup.name = "w1"}, %b1: !torch.vtensor<[?],f32> {tierup.name = "b1"},
               %w2: !torch.vtensor<[?,?],f32> {tierup.name = "w2"}, %b2: !torch.vtensor<[?],f32> {tierup.name = "b2"})
    -> !torch.vtensor<[?,?],f32> {
  %0 = torch.aten.linear %x, %w0, %b0 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?,?],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
  %2 = torch.aten.linear %1, %w1, %b1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?,?],f32>
  %3 = torch.aten.relu %2 : !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32>
  %4 = torch.aten.linear %3, %w2, %b2 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?,?],f32>
  return %4 : !torch.vtensor<[?,?],f32>
}
