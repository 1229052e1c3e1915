// The mean of the embeddings of each row of indices; an empty row gives zeros.
func.func @embedding_bag(%table: !torch.vtensor<[?,?],f32> {tierup.name = "table"}, %indices: !torch.vtensor<[?,?],si64> {tierup.name = "indices"})
    -> !torch.vtensor<[?,?],f32> {
  %false = torch.constant.bool false
  %none = torch.constant.none
  %m1 = torch.constant.int -1
  %c0 = torch.constant.int 0
  %c1 = torch.constant.int 1
  %count = torch.aten.size.int %indices, %c1 : !torch.vtensor<[?,?],si64>, !torch.int -> !torch.int
  %any = torch.aten.gt.int %count, %c0 : !torch.int, !torch.int -> !torch.bool
  %dims = torch.prim.ListConstruct %c1 : (!torch.int) -> !torch.list<int>
  %picked = torch.aten.embedding %table, %indices, %m1, %false, %false : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],si64>, !torch.int, !torch.bool, !torch.bool -> !torch.vtensor<[?,?,?],f32>
  %sum = torch.aten.sum.dim_IntList %picked, %dims, %false, %none : !torch.vtensor<[?,?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,?],f32>
  %r = torch.prim.If %any -> (!torch.vtensor<[?,?],f32>) {
    %mean = torch.aten.div.Scalar %sum, %count : !torch.vtensor<[?,?],f32>, !torch.int -> !torch.vtensor<[?,?],f32>
    torch.prim.If.yield %mean : !torch.vtensor<[?,?],f32>
  } else {
    torch.prim.If.yield %sum : !torch.vtensor<[?,?],f32>
  }
  return %r : !torch.vtensor<[?,?],f32>
}
