func.func @main(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],f32>, %c: !torch.bool) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.exp %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.prim.If %c -> (!torch.vtensor<[4],f32>) {
    torch.prim.If.yield %x : !torch.vtensor<[4],f32>
  } else {
    torch.prim.If.yield %y : !torch.vtensor<[4],f32>
  }
  return %1 : !torch.vtensor<[4],f32>
}
